import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { describe, expect, test } from 'vitest';
import { readTraceContext } from '../../src/http/trace-context.ts';
import type { Tracer } from '../../src/model/tracer.ts';
import type { SpanExportObserver } from '../../src/telemetry/span-export.ts';
import { createTracer } from '../../src/telemetry/tracer.ts';
import { startCollector } from '../support/collector.ts';

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
  const settings = { otlp, serviceName: 'test', sample, headers: { authorization: 'Bearer s3cr3t' } };
  return { tracer: createTracer(settings, observer, next), told };
}

function call(trace = sampled) {
  return { trace, method: 'GET', startedAt: performance.now() };
}

/** As many server spans as asked for, ended. */
function makeSpans(tracer: Tracer, count: number): void {
  for (let i = 0; i < count; i += 1) tracer.join(call(), true, {}).span?.end();
}

/** Nobody listens there: 9 is the port of discard. */
const nobody = 'http://127.0.0.1:9';

describe('what is recorded', () => {
  const half = [0.49, 0.5, 0.1, 0.9];
  test.each([
    ['begun here: by the dice', undefined, false, [true, false, true, false]],
    ['that a stranger wants recorded: by the dice', sampled, false, [true, false, true, false]],
    ['that a trusted peer wants recorded: all', sampled, true, [true, true, true, true]],
    ['that nobody wants recorded: none', unsampled, false, [false, false, false, false]],
    ['that a trusted peer does not want: none', unsampled, true, [false, false, false, false]],
  ])('of traces %s', (_title, trace, isTrusted, wanted) => {
    let at = 0;
    const { tracer } = tracerFor(nobody, 0.5, () => half[at++ % 4] as number);
    const recorded = wanted.map(() => tracer.join({ ...call(), trace }, isTrusted, {}).span !== undefined);
    expect(recorded).toEqual(wanted);
  });

  test('0 is nothing and 1 is everything, whatever the dice say', () => {
    for (const dice of [0, 0.5, 1 - Number.EPSILON]) {
      expect(
        tracerFor(nobody, 0, () => dice).tracer.join({ ...call(), trace: undefined }, false, {}).span,
      ).toBeUndefined();
      expect(
        tracerFor(nobody, 1, () => dice).tracer.join({ ...call(), trace: undefined }, false, {}).span,
      ).toBeDefined();
    }
  });

  test('a context without a span is another one for each call, of the same trace', () => {
    const { tracer } = tracerFor(nobody);
    const [a, b] = [1, 2].map(() => tracer.join(call(unsampled), false, {}).context);
    expect([a?.traceId, a?.isSampled]).toEqual([unsampled?.traceId, false]);
    expect(new Set([a?.parentId, b?.parentId, unsampled?.parentId]).size).toBe(3);
  });
});

describe('a collector', () => {
  test('gets spans as protobuf below its URL, with our headers', async () => {
    const collector = await startCollector();
    const { tracer, told } = tracerFor(`${collector.url}/otlp`);
    makeSpans(tracer, 3);
    await tracer.close();
    expect(collector.requests).toEqual([
      {
        url: '/otlp/v1/traces',
        headers: expect.objectContaining({
          authorization: 'Bearer s3cr3t',
          'content-type': 'application/x-protobuf',
        }) as unknown,
      },
    ]);
    expect(collector.spans).toHaveLength(3);
    expect(collector.spans[0]?.resource).toMatchObject({ 'service.name': 'test' });
    expect(told).toEqual({ exported: 3, dropped: 0, collector: [] });
    await collector.close();
  });

  test('that refuses spans is reported once, and once more when it accepts them again', async () => {
    const collector = await startCollector();
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
    await collector.close();
  });

  test('that is away costs what waits and no more than that, and does not hold up the end', async () => {
    const { tracer, told } = tracerFor(nobody);
    makeSpans(tracer, 10_000);
    expect(told.dropped).toBe(10_000 - 2_048);
    const closing = performance.now();
    await tracer.close();
    expect(performance.now() - closing).toBeLessThan(4_000);
  });

  test('that takes connections and never answers does not hold up the end', async () => {
    const silent = createServer(() => {}).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const { tracer } = tracerFor(`http://127.0.0.1:${(silent.address() as AddressInfo).port}`);
    makeSpans(tracer, 1);
    const closing = performance.now();
    await tracer.close();
    expect(performance.now() - closing).toBeLessThan(4_000);
    silent.close();
  });
});

test('a value that a caller chose is cut', async () => {
  const collector = await startCollector();
  const { tracer } = tracerFor(collector.url);
  const { span } = tracer.join(call(), true, { 'url.path': `/${'x'.repeat(10_000)}` });
  span?.end();
  await tracer.close();
  expect(collector.spans[0]?.attributes['url.path']).toHaveLength(512);
  await collector.close();
});

test('a method that a caller made up names nothing', async () => {
  const collector = await startCollector();
  const { tracer } = tracerFor(collector.url);
  tracer.join({ ...call(), method: 'BREW' }, true, {}).span?.end();
  await tracer.close();
  expect(collector.spans[0]).toMatchObject({ name: 'HTTP', attributes: { 'http.request.method': '_OTHER' } });
  await collector.close();
});

test('what is begun within a span finds it, however late, and others do not', async () => {
  const { tracer } = tracerFor(nobody);
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
