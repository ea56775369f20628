import { AggregatorRegistry, Histogram, Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { RouteHistogram } from '../../../src/core/telemetry/request-metrics.ts';

const about = { name: 'seconds', help: 'How long', buckets: [0.001, 0.01, 0.1] };
const observed: readonly (readonly [route: string, value: number])[] = [
  ['api', 0.0005],
  ['api', 0.001],
  ['api', 0.05],
  ['tools "x"', 7],
];

function ours(): Registry {
  const registry = new Registry();
  const histogram = new RouteHistogram({ ...about, registers: [registry] });
  for (const [route, value] of observed) histogram.add(route, value);
  return registry;
}

function theirs(): Registry {
  const registry = new Registry();
  const histogram = new Histogram({ ...about, labelNames: ['route'], registers: [registry] });
  for (const [route, value] of observed) histogram.observe({ route }, value);
  return registry;
}

test('equals prom-client’s own histogram', async () => {
  expect(await ours().metrics()).toBe(await theirs().metrics());
  expect(await ours().metrics()).toContain('seconds_count{route="api"} 3');
});

test('is aggregated over processes like prom-client’s own', async () => {
  const summed = async (one: Registry, other: Registry): Promise<string> => {
    const each = await Promise.all([one, other].map(async (registry) => registry.getMetricsAsJSON()));
    return AggregatorRegistry.aggregate(each).metrics();
  };
  expect(await summed(ours(), ours())).toBe(await summed(theirs(), theirs()));
  expect(await summed(ours(), ours())).toContain('seconds_count{route="api"} 6');
});
