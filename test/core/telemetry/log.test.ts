import { Writable, PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { describe, expect, test, vi } from 'vitest';
import { Denial } from '../../../src/core/model/denial.ts';
import type { Outcome } from '../../../src/core/model/outcome.ts';
import { createJsonLines } from '../../../src/core/telemetry/json-lines.ts';
import type { Log } from '../../../src/core/telemetry/log.ts';
import { call } from '../policy/caller.ts';
import { linesOf } from './lines-of.ts';

const outcome = {
  call: { id: 'r1', decision: 'd1', method: 'POST', startedAt: 1, trace: undefined },
  allow: true,
  decidedAt: 1.5,
} as Outcome;
const denied: Outcome = { ...outcome, allow: false, denial: new Denial('route.unknown', 'no route') };

function both(log: Log): void {
  log.decided(outcome);
  log.decided(denied);
}

describe('logged lines', () => {
  test.each([
    ['info', 'all', 2],
    ['info', 'denials', 1],
    ['debug', 'all', 2],
    ['warn', 'all', 0],
  ] as const)('with level %s and decisions %s: %d lines', (level, decisions, expected) => {
    expect(linesOf(both, { level, decisions }).length).toBe(expected);
  });

  test('with decisions: denials, include what shadow mode would have denied', () => {
    const shadow = { reason: 'claim.denied', detail: 'x', scope: [], rule: 'claims.x' } as const;
    const lines = linesOf((log) => log.decided({ ...outcome, shadow }), { decisions: 'denials' });
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ allow: true, shadow: true, reason: 'claim.denied' });
  });

  test.each([0, 7, 86, 999, 1_000, 61_042])('have the time of the decision: %d ms after a full minute', (ms) => {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.UTC(2026, 10, 22, 17) + ms });
    const lines = linesOf(both);
    const time = new Date().toISOString();
    vi.useRealTimers();
    expect(lines.map((line) => (JSON.parse(line) as { time: string }).time)).toEqual([time, time]);
  });

  test('do not end at a tool name', () => {
    const name = 'a"\r\n{"allow":true}\u2028';
    const attempt = call(name, {});
    const [line] = linesOf((log) => log.decided({ ...denied, attempt }));
    expect(line).not.toMatch(/[\r\n]/);
    expect(JSON.parse(line ?? '')).toMatchObject({ tool: name, allow: false });
  });
});

describe('writing', () => {
  /** An output that notes what it gets; `onWrite` decides when it has taken it. */
  function noting(onWrite: (done: () => void) => void) {
    const writes: string[] = [];
    const output = new Writable({
      write(chunk: Buffer, _encoding, done) {
        writes.push(chunk.toString());
        onWrite(done);
      },
    });
    return { writes, output, lines: createJsonLines(output) };
  }

  test('writes the lines of one turn of the event loop together', async () => {
    const { writes, lines } = noting((done) => done());
    lines.write({ a: 1 });
    lines.write({ a: 2 });
    expect(writes).toEqual([]);
    await expect.poll(() => writes).toEqual(['{"a":1}\n{"a":2}\n']);
  });

  test('writes the lines that come while the output is busy together, and the last ones at the end', async () => {
    const waiting: (() => void)[] = [];
    const { writes, output, lines } = noting((done) => waiting.push(done));
    lines.write({ a: 1 });
    await expect.poll(() => writes).toHaveLength(1);
    lines.write({ a: 2 });
    await new Promise(setImmediate);
    lines.write({ a: 3 });
    await new Promise(setImmediate);
    expect(output.writableLength).toBe(writes[0]?.length);
    waiting.shift()?.();
    await expect.poll(() => writes).toEqual(['{"a":1}\n', '{"a":2}\n{"a":3}\n']);
    lines.write({ a: 4 });
    const closed = lines.close();
    // The rest, and the empty write at whose end the log is closed.
    for (const count of [3, 4]) {
      waiting.shift()?.();
      await expect.poll(() => writes).toHaveLength(count);
    }
    waiting.shift()?.();
    await closed;
    expect(writes.slice(2)).toEqual(['{"a":4}\n', '']);
  });

  test('drops lines instead of using memory for a stuck reader, and lets the process exit', async () => {
    const output = new Writable({ write() {} });
    const lines = createJsonLines(output);
    for (let i = 0; i < 20; i += 1) {
      lines.write({ text: 'x'.repeat(1024 * 1024) });
      await new Promise(setImmediate);
    }
    expect(lines.dropped).toBeGreaterThan(8);
    expect(output.writableLength).toBeLessThan(10 * 1024 * 1024);
    await lines.close();
  });
});

test('values of a caller are one line without control characters, and parse to the same values', async () => {
  const output = new PassThrough();
  const lines = createJsonLines(output);
  const odd = 'a\r\nb\u001b[2J\u007f\u0085\u009b31m\u2028\u2029\u202e\u2066ü送💸"\\';
  lines.write({ tool: odd });
  lines.write({ tool: 'plain' });
  await lines.close();
  output.end();
  const written = await text(output);
  expect(written).not.toMatch(/[^\n -~\u00a0-\u2027\u202f-\u2065\u206a-\uffff]/);
  const parsed = written
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown);
  expect(parsed).toEqual([{ tool: odd }, { tool: 'plain' }]);
});
