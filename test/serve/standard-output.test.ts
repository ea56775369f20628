import { execFileSync } from 'node:child_process';
import { closeSync, constants, existsSync, mkdtempSync, openSync, readSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { copyLines, standardOutput } from '../../src/serve/standard-output.ts';

/** Whatever else happens: the service goes on. */
function watched(output: Writable): { readonly errors: unknown[] } {
  const errors: unknown[] = [];
  output.on('error', (error) => errors.push(error));
  return { errors };
}

const ended = (output: Writable): Promise<void> => new Promise((resolve) => output.end(() => resolve()));

/** The ends of a pipe, as it is once Node has looked at it as process.stdout. */
function openPipe(): { readonly reader: number; readonly writer: number } {
  const pipe = join(mkdtempSync(join(tmpdir(), 'sallyport-')), 'pipe');
  execFileSync('mkfifo', [pipe]);
  const reader = openSync(pipe, constants.O_RDONLY | constants.O_NONBLOCK);
  return { reader, writer: openSync(pipe, constants.O_WRONLY | constants.O_NONBLOCK) };
}

test('waits for a stuck reader, which then gets every line', async () => {
  const { reader, writer } = openPipe();
  const output = standardOutput(writer);
  const { errors } = watched(output);
  const line = `${'x'.repeat(1023)}\n`;
  for (let count = 0; count < 512; count += 1) output.write(line);
  const done = ended(output);
  await sleep(100);
  expect(errors).toEqual([]);

  let received = '';
  const buffer = Buffer.alloc(64 * 1024);
  const finished = done.then(() => true);
  while (received.length < 512 * 1024) {
    try {
      received += buffer.toString('latin1', 0, readSync(reader, buffer));
    } catch {
      // Nothing is there yet.
    }
    await sleep(1);
  }
  expect(received).toBe(line.repeat(512));
  expect(await finished).toBe(true);
  for (const fd of [reader, writer]) closeSync(fd);
});

/** A pipe that has no reader any more. */
function unreadPipe(): number {
  const { reader, writer } = openPipe();
  closeSync(reader);
  return writer;
}

test.each([
  ['a full disk', () => openSync(existsSync('/dev/full') ? '/dev/full' : '/dev/null', 'w')],
  ['a closed reader', unreadPipe],
])('%s costs only lines, and does not end the process', async (_what, open) => {
  const fd = open();
  const output = standardOutput(fd);
  const { errors } = watched(output);
  for (const line of ['one\n', 'two\n']) output.write(line);
  await ended(output);
  expect(errors).toEqual([]);
  closeSync(fd);
});

test('copies lines of several processes whole, wherever their parts end', async () => {
  const parts: string[] = [];
  const to = new Writable({
    write(bytes: Buffer, _encoding, done) {
      parts.push(bytes.toString());
      done();
    },
  });
  const [one, other] = [new PassThrough(), new PassThrough()];
  copyLines(one, to);
  copyLines(other, to);
  const text = Buffer.from('{"subject":"Zoë"}\n');
  // Within the two bytes of the ë, and within a line.
  const cut = text.indexOf('ë') + 1;
  for (const bytes of [text.subarray(0, cut), text.subarray(cut, cut + 1), text.subarray(cut + 1)]) {
    one.write(bytes);
    other.write('{"an');
    other.write('other":1}\n{"th');
    other.write('ird":2}\n');
    // A stream passes data on in a later turn.
    await new Promise(setImmediate);
  }
  const whole = ['{"another":1}\n', '{"third":2}\n'];
  expect(parts.filter((part) => part !== '')).toEqual([...whole, ...whole, '{"subject":"Zoë"}\n', ...whole]);
});

test('reads no more lines of a process while the output is full', async () => {
  const taken: (() => void)[] = [];
  const to = new Writable({ highWaterMark: 1, write: (_bytes, _encoding, done) => void taken.push(done) });
  const from = new PassThrough();
  copyLines(from, to);
  from.write('one\n');
  await new Promise(setImmediate);
  expect(from.isPaused()).toBe(true);
  taken.shift()?.();
  expect(from.isPaused()).toBe(false);
});
