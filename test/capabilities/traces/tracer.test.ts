import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { describe, expect, test } from 'vitest';
import { readTraceContext } from '../../../src/core/lib/http/trace-context.ts';
import type { Tracer } from '../../../src/capabilities/traces/span.ts';
import { type SpanExportObserver, createTracer } from '../../../src/capabilities/traces/tracer.ts';
import { startCollector } from '../../support/collector.ts';
import { startBeforeEach } from '../../support/start-before.ts';

const sampled = readTraceContext('00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01', undefined);
const unsampled = readTraceContext('00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00', undefined);

interface Told {
  exported: number;
  dropped: number;
  readonly collector: (string | undefined)[];
}

/** A tracer, and what it tells of its spans. `next` are the dice. */
function tracerFor(otlp: string, sample = 1, next: () => number = Math.random): { tracer: Tracer; told: Told } {
  const told: Told = { exported: 0, dropped: 0, collector: [] };
  const observer: SpanExportObserver = {
    spans: (result, count) => void (told[result] += count),
    collector: (problem) => void told.collector.push(problem),
  };
  const settings = { otlp, serviceName: 'test', sample, logs: false, headers: { authorization: 'Bearer s3cr3t' } };
  return { tracer: createTracer(settings, observer, next), told };
}

function call(trace = sampled) {
  return { trace, method: 'GET', startedAt: performance.now() };
}

/** As many server spans as asked for, ended. */
function makeSpans(tracer: Tracer, count: number): void {
  for (let i = 0; i < count; i += 1) tracer.join(call(), true, {}).span?.end();
}

async function closingTime(tracer: Tracer): Promise<number> {
  const closing = performance.now();
  await tracer.close();
  return performance.now() - closing;
}

const collector = startBeforeEach(startCollector);

/** No server listens there: 9 is the port of discard. */
const unreachable = 'http://127.0.0.1:9';

describe('recording', () => {
  const half = [0.49, 0.5, 0.1, 0.9];
  test.each([
    ['that begin here: as sampled', undefined, false, [true, false, true, false]],
    ['that an untrusted client samples: as sampled', sampled, false, [true, false, true, false]],
    ['that a trusted peer samples: all', sampled, true, [true, true, true, true]],
    ['that an untrusted client does not sample: none', unsampled, false, [false, false, false, false]],
    ['that a trusted peer does not sample: none', unsampled, true, [false, false, false, false]],
  ])('of traces %s', (_title, trace, isTrusted, wanted) => {
    let at = 0;
    const { tracer } = tracerFor(unreachable, 0.5, () => half[at++ % 4] as number);
    const recorded = wanted.map(() => tracer.join({ ...call(), trace }, isTrusted, {}).span !== undefined);
    expect(recorded).toEqual(wanted);
  });

  test('records nothing with sample 0 and everything with 1', () => {
    for (const dice of [0, 0.5, 1 - Number.EPSILON]) {
      const spanAt = (sample: number): unknown =>
        tracerFor(unreachable, sample, () => dice).tracer.join({ ...call(), trace: undefined }, false, {}).span;
      expect(spanAt(0)).toBeUndefined();
      expect(spanAt(1)).toBeDefined();
    }
  });

  test('makes a new context of the same trace for each call without a span', () => {
    const { tracer } = tracerFor(unreachable);
    const [a, b] = [1, 2].map(() => tracer.join(call(unsampled), false, {}).context);
    expect([a?.traceId, a?.isSampled]).toEqual([unsampled?.traceId, false]);
    expect(new Set([a?.parentId, b?.parentId, unsampled?.parentId]).size).toBe(3);
  });
});

describe('a collector', () => {
  test('gets spans as protobuf below its URL, with the configured headers', async () => {
    const { tracer, told } = tracerFor(`${collector.url}/otlp`);
    makeSpans(tracer, 3);
    await tracer.close();
    const headers = { authorization: 'Bearer s3cr3t', 'content-type': 'application/x-protobuf' };
    expect(collector.requests).toMatchObject([{ url: '/otlp/v1/traces', headers }]);
    expect(collector.spans).toHaveLength(3);
    expect(collector.spans[0]?.resource).toMatchObject({ 'service.name': 'test' });
    expect(told).toEqual({ exported: 3, dropped: 0, collector: [] });
  });

  test('that refuses is reported once, and once when it accepts spans again', async () => {
    const { tracer, told } = tracerFor(collector.url);
    collector.status = 401;
    for (const dropped of [2, 4]) {
      makeSpans(tracer, 2);
      await expect.poll(() => told.dropped).toBe(dropped);
    }
    expect(told.collector).toEqual(['status 401']);
    collector.status = 200;
    makeSpans(tracer, 1);
    await expect.poll(() => told.exported).toBe(1);
    expect(told.collector).toEqual(['status 401', undefined]);
    await tracer.close();
  });

  test('that is unavailable loses only queued spans, and does not delay the exit', async () => {
    const { tracer, told } = tracerFor(unreachable);
    makeSpans(tracer, 10_000);
    expect(told.dropped).toBe(10_000 - 2_048);
    expect(await closingTime(tracer)).toBeLessThan(4_000);
  });

  test('that never answers does not delay the exit', async () => {
    const silent = createServer(() => {}).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const { tracer } = tracerFor(`http://127.0.0.1:${(silent.address() as AddressInfo).port}`);
    makeSpans(tracer, 1);
    expect(await closingTime(tracer)).toBeLessThan(4_000);
    silent.close();
  });
});

test('cuts a value that a caller chose', async () => {
  const { tracer } = tracerFor(collector.url);
  const { span } = tracer.join(call(), true, { 'url.path': `/${'x'.repeat(10_000)}` });
  span?.end();
  await tracer.close();
  expect(collector.spans[0]?.attributes['url.path']).toHaveLength(512);
});

test('names no span after an unknown method', async () => {
  const { tracer } = tracerFor(collector.url);
  tracer.join({ ...call(), method: 'BREW' }, true, {}).span?.end();
  await tracer.close();
  expect(collector.spans[0]).toMatchObject({ name: 'HTTP', attributes: { 'http.request.method': '_OTHER' } });
});

test('work begun within a span finds the span later, other work does not', async () => {
  const { tracer } = tracerFor(unreachable);
  const spans = [1, 2].map(() => tracer.join(call(), true, {}).span);
  const found = await Promise.all(
    spans.map((span) =>
      tracer.within(span as NonNullable<typeof span>, async () => {
        await new Promise((resolve) => setImmediate(resolve));
        return tracer.current();
      }),
    ),
  );
  expect(found).toEqual(spans);
  expect(tracer.current()).toBeUndefined();
});
