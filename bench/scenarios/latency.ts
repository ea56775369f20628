import { join } from 'node:path';
import type { Scenario } from '../bench.ts';
import { haproxyJwt } from '../contenders/haproxy-jwt.ts';
import { direct, httpProxy3, undiciFloor } from '../contenders/node.ts';
import { compared } from '../contenders/sallyport.ts';
import { paced } from '../load/h2load.ts';
import { notOnPath } from '../machine/process.ts';
import { differences, inRounds, median, quantile, ratios, spread } from '../statistics.ts';
import { atMost, timesSpread, type Line } from '../table.ts';
import { requestOf } from './requests.ts';

const PER_SECOND = 3000;
const CONNECTIONS = 32;
/** V8 compiles the hot code meanwhile. */
const WARM_UP_SECONDS = 10;

const AIM_P50_MS = 0.06;
const AIM_P99 = 2;

/** The latency of a contender beside the floor's. Express serves fewer requests on a core. */
export const latency: Scenario = {
  name: 'latency',
  about: `GET at a fixed ${PER_SECOND} requests/s over ${CONNECTIONS} connections: the latency beside a direct call and the floor`,
  async run(bench) {
    const missing = notOnPath('h2load');
    if (missing !== undefined) throw new Error(`${missing}: the load needs it`);
    const contenders = [direct, ...compared(bench, [undiciFloor, haproxyJwt, httpProxy3])];
    const request = requestOf('get', await bench.token());
    const log = join(bench.surroundings.folder, 'latency.tsv');
    const rounds = await bench.with(contenders, async (running) => {
      const loaded = (url: string, seconds: number): Promise<readonly number[]> =>
        paced(url, request, { perSecond: PER_SECOND, seconds, connections: CONNECTIONS, log });
      for (const { url } of running.values()) await loaded(url, WARM_UP_SECONDS);
      return inRounds(bench.rounds, running, ({ url }) => loaded(url, bench.seconds));
    });
    const of = (name: string, q: number): readonly number[] =>
      (rounds.get(name) ?? []).map((latencies) => quantile(latencies, q));
    const added = (subject: string, base: string, q: number): number =>
      median(differences(of(subject, q), of(base, q)));
    const ofFloor = (subject: string, q: number) => spread(ratios(of(subject, q), of(undiciFloor.name, q)));
    return [...rounds.keys()].map((subject): Line => {
      const cells: Record<string, string> = {};
      for (const [name, q] of Object.entries({ p50: 0.5, p99: 0.99 })) {
        cells[`${name} ms`] = median(of(subject, q)).toFixed(2);
        cells[`adds ${name}`] = subject === direct.name ? '' : added(subject, direct.name, q).toFixed(2);
        cells[`${name} over the floor's`] = timesSpread(ofFloor(subject, q));
      }
      const ms = (value: number): string => `${value.toFixed(2)} ms`;
      const aims = [
        atMost('p50, added to undici-floor', AIM_P50_MS, added(subject, undiciFloor.name, 0.5), ms),
        atMost('p99, compared with undici-floor', AIM_P99, ofFloor(subject, 0.99).median),
      ];
      return { subject, cells, aims: subject === 'sallyport' ? aims : [] };
    });
  },
};
