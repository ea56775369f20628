import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { Durations, Tally } from '../../../src/core/telemetry/request-metrics.ts';

test('a counter keeps the values of its labels apart', async () => {
  const registry = new Registry();
  const counter = new Tally({ name: 'calls', help: 'Calls', labelNames: ['route', 'status'], registers: [registry] });
  counter.add(1, 'a', '200');
  counter.add(2, 'a', '404');
  counter.add(3, 'b', '200');
  counter.add(4, 'a', '200');
  const page = await registry.metrics();
  expect(page.split('\n').filter((line) => line.startsWith('calls'))).toEqual([
    'calls{route="a",status="200"} 5',
    'calls{route="a",status="404"} 2',
    'calls{route="b",status="200"} 3',
  ]);
  expect(await registry.metrics()).toBe(page);
});

test('a histogram shows each duration at the next scrape, once', async () => {
  const registry = new Registry();
  const configuration = {
    name: 'time',
    help: 'Time',
    labelNames: ['route'],
    buckets: [0.25, 1],
    registers: [registry],
  };
  const durations = new Durations(configuration);
  // More than wait for a scrape, of one route, and fewer of another.
  for (let count = 0; count < 300; count += 1) durations.add('a', count < 100 ? 0.25 : 0.5);
  durations.add('b', 2);
  const page = await registry.metrics();
  expect(page.split('\n').filter((line) => line.startsWith('time'))).toEqual([
    'time_bucket{le="0.25",route="a"} 100',
    'time_bucket{le="1",route="a"} 300',
    'time_bucket{le="+Inf",route="a"} 300',
    'time_sum{route="a"} 125',
    'time_count{route="a"} 300',
    'time_bucket{le="0.25",route="b"} 0',
    'time_bucket{le="1",route="b"} 0',
    'time_bucket{le="+Inf",route="b"} 1',
    'time_sum{route="b"} 2',
    'time_count{route="b"} 1',
  ]);
  expect(await registry.metrics()).toBe(page);
});
