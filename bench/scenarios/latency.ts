import { direct } from '../contenders/direct.ts';
import { express } from '../contenders/express.ts';
import { haproxyJwt } from '../contenders/haproxy-jwt.ts';
import { httpProxy3 } from '../contenders/http-proxy-3.ts';
import { createSallyport } from '../contenders/sallyport.ts';
import { bytesOf } from '../load/connection.ts';
import { steady } from '../load/steady.ts';
import type { Scenario } from '../scenario.ts';
import { median, quantile } from '../statistics.ts';
import type { Line } from '../table.ts';
import { requestOf } from './requests.ts';

const PER_SECOND = 1000;
const CONNECTIONS = 64;
const AIM_P50_MS = 0.25;
const AIM_P99_MS = 0.6;

/** The latency that a contender adds to a call. */
export const latency: Scenario = {
  name: 'latency',
  about: `GET at a fixed ${PER_SECOND} requests/s; the latency that each adds to a direct call of the upstream`,
  async run(bench) {
    const contenders = [direct, createSallyport(), haproxyJwt, httpProxy3, express];
    const request = requestOf('get', await bench.token());
    const p50 = new Map<string, number[]>();
    const p99 = new Map<string, number[]>();
    await bench.with(contenders, async (running) => {
      for (const { url } of running.values()) await steady(url, bytesOf(url, request), PER_SECOND, 3, CONNECTIONS);
      for (let round = 0; round < bench.rounds; round += 1) {
        for (const [name, { url }] of running) {
          const { latencies, failed } = await steady(
            url,
            bytesOf(url, request),
            PER_SECOND,
            bench.seconds,
            CONNECTIONS,
          );
          if (failed > 0) throw new Error(`${name}: ${failed} requests failed`);
          p50.set(name, [...(p50.get(name) ?? []), quantile(latencies, 0.5)]);
          p99.set(name, [...(p99.get(name) ?? []), quantile(latencies, 0.99)]);
        }
      }
    });
    const added = (by: ReadonlyMap<string, number[]>, name: string): number =>
      median((by.get(name) ?? []).map((each, round) => each - (by.get('direct')?.[round] ?? NaN)));
    const at = `≤ ${AIM_P50_MS} and ≤ ${AIM_P99_MS} ms`;
    return [...p50.keys()].map((name): Line => {
      const more = { p50: added(p50, name), p99: added(p99, name) };
      return {
        subject: name,
        cells: {
          'p50 ms': median(p50.get(name) ?? []).toFixed(2),
          'p99 ms': median(p99.get(name) ?? []).toFixed(2),
          'adds p50': name === 'direct' ? '' : more.p50.toFixed(2),
          'adds p99': name === 'direct' ? '' : more.p99.toFixed(2),
        },
        aim: name === 'sallyport' ? { at, met: more.p50 <= AIM_P50_MS && more.p99 <= AIM_P99_MS } : undefined,
      };
    });
  },
};
