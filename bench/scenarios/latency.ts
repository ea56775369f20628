import { compared } from '../contenders/compared.ts';
import { haproxyJwt } from '../contenders/haproxy-jwt.ts';
import { direct, express, httpProxy3, undiciFloor } from '../contenders/node.ts';
import { bytesOf } from '../load/connection.ts';
import { steady } from '../load/steady.ts';
import type { Scenario } from '../scenario.ts';
import { differences, median, quantile, ratios, rotated, spread } from '../statistics.ts';
import { atMost, type Line } from '../table.ts';
import { requestOf } from './requests.ts';

const PER_SECOND = 1000;
const CONNECTIONS = 64;

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
    const rounds = new Map(contenders.map(({ name }) => [name, [] as (readonly number[])[]]));
    await bench.with(contenders, async (running) => {
      const loaded = async (url: string, seconds: number): ReturnType<typeof steady> =>
        steady(url, bytesOf(url, request), PER_SECOND, seconds, CONNECTIONS);
      for (const { url } of running.values()) await loaded(url, 3);
      for (let round = 0; round < bench.rounds; round += 1) {
        for (const [name, { url }] of rotated([...running], round)) {
          const { latencies, failed } = await loaded(url, bench.seconds);
          if (failed > 0) throw new Error(`${name}: ${failed} requests failed`);
          rounds.get(name)?.push(latencies);
        }
      }
    });
    const of = (name: string, q: number): readonly number[] =>
      (rounds.get(name) ?? []).map((latencies) => quantile(latencies, q));
    return [...rounds.keys()]
      .filter((name) => of(name, 0.5).length > 0)
      .map((subject): Line => {
        const cells: Record<string, string> = {};
        for (const { name, q } of quantiles) {
          const own = of(subject, q);
          const ratio = spread(ratios(own, of(undiciFloor.name, q)));
          cells[`${name} ms`] = median(own).toFixed(2);
          cells[`adds ${name}`] =
            subject === direct.name ? '' : median(differences(own, of(direct.name, q))).toFixed(2);
          cells[`${name} over the floor's`] =
            `${ratio.median.toFixed(2)} × (${ratio.low.toFixed(2)}–${ratio.high.toFixed(2)})`;
        }
        const aims = quantiles.map(({ name, q, aim }) =>
          atMost(`${name} compared with undici-floor`, aim, median(ratios(of(subject, q), of(undiciFloor.name, q)))),
        );
        return { subject, cells, aims: subject === 'sallyport' ? aims : [] };
      });
  },
};
