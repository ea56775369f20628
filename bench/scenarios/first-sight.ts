import type { Scenario } from '../bench.ts';
import { cpuLines } from '../compare-cpu.ts';
import { apacheOpenidc } from '../contenders/apache-openidc.ts';
import { haproxyJwt } from '../contenders/haproxy-jwt.ts';
import { express, undiciFloor } from '../contenders/node.ts';
import { compared } from '../contenders/sallyport.ts';
import { bytesOf } from '../load/connection.ts';
import { each } from '../load/steady.ts';
import { cpuMicroseconds } from '../machine/process.ts';
import { inRounds } from '../statistics.ts';
import { requestOf } from './requests.ts';

const TOKENS = 1000;
const CONNECTIONS = 64;
/** After these rounds V8 has compiled what a new token needs, which takes up to three times as long before. */
const WARM_UP_ROUNDS = 40;

/** Many tokens, each used once. */
export const firstSight: Scenario = {
  name: 'first-sight',
  about: `GET with ${TOKENS} different JWTs, each used for the first time`,
  async run(bench) {
    const contenders = compared(bench, [undiciFloor, haproxyJwt, apacheOpenidc, express]);
    /** By round: the contenders share them. */
    const tokens: (readonly string[])[] = [];
    const samples = await bench.with(contenders, (running) =>
      inRounds(WARM_UP_ROUNDS + bench.rounds, running, async ({ url, pids }, round) => {
        tokens[round] ??= await Promise.all(Array.from({ length: TOKENS }, () => bench.token()));
        const requests = tokens[round].map((token) => bytesOf(url, requestOf('get', token)));
        const before = cpuMicroseconds(pids);
        await each(url, requests, CONNECTIONS);
        return (cpuMicroseconds(pids) - before) / TOKENS;
      }),
    );
    const measured = [...samples].map(([name, cpu]) => [name, cpu.slice(WARM_UP_ROUNDS)] as const);
    return cpuLines(new Map(measured), contenders, { 'haproxy-jwt': 2.5 });
  },
};
