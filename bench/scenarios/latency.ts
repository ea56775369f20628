import type { Scenario } from '../bench.ts';
import { haproxyJwt } from '../contenders/haproxy-jwt.ts';
import { direct, express, httpProxy3, undiciFloor } from '../contenders/node.ts';
import { compared } from '../contenders/sallyport.ts';
import { bytesOf } from '../load/connection.ts';
import { steady } from '../load/steady.ts';
import { differences, inRounds, median, quantile, ratios, spread } from '../statistics.ts';
import { atMost, timesSpread, type Aim, type Line } from '../table.ts';
import { requestOf } from './requests.ts';

const PER_SECOND = 3000;
const CONNECTIONS = 32;

/** The quantiles, and the largest acceptable ratio of the gateway's to the floor's. */
const quantiles = [
  { name: 'p50', q: 0.5, aim: 1.15 },
  { name: 'p99', q: 0.99, aim: 1.3 },
] as const;

/** The latency of a contender beside the floor's. */
export const latency: Scenario = {
  name: 'latency',
  about: `GET at a fixed ${PER_SECOND} requests/s: the latency, and what each adds to a direct call of the upstream`,
  async run(bench) {
    const contenders = [direct, ...compared(bench, [undiciFloor, haproxyJwt, httpProxy3, express])];
    const request = requestOf('get', await bench.token());
    const rounds = await bench.with(contenders, async (running) => {
      const loaded = (url: string, seconds: number): Promise<readonly number[]> =>
        steady(url, bytesOf(url, request), PER_SECOND, seconds, CONNECTIONS);
      for (const { url } of running.values()) await loaded(url, 3);
      return inRounds(bench.rounds, running, ({ url }) => loaded(url, bench.seconds));
    });
    const of = (name: string, q: number): readonly number[] =>
      (rounds.get(name) ?? []).map((latencies) => quantile(latencies, q));
    return [...rounds.keys()].map((subject): Line => {
      const cells: Record<string, string> = {};
      const aims: Aim[] = [];
      for (const { name, q, aim } of quantiles) {
        const own = of(subject, q);
        const ratio = spread(ratios(own, of(undiciFloor.name, q)));
        cells[`${name} ms`] = median(own).toFixed(2);
        cells[`adds ${name}`] = subject === direct.name ? '' : median(differences(own, of(direct.name, q))).toFixed(2);
        cells[`${name} over the floor's`] = timesSpread(ratio);
        aims.push(atMost(`${name} compared with undici-floor`, aim, ratio.median));
      }
      return { subject, cells, aims: subject === 'sallyport' ? aims : [] };
    });
  },
};
