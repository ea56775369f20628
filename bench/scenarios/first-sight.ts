import { cpuLines } from '../compare-cpu.ts';
import { apacheOpenidc } from '../contenders/apache-openidc.ts';
import { compared } from '../contenders/compared.ts';
import { haproxyJwt } from '../contenders/haproxy-jwt.ts';
import { express, undiciFloor } from '../contenders/node.ts';
import { bytesOf } from '../load/connection.ts';
import { each } from '../load/steady.ts';
import { cpuMicroseconds } from '../machine/process.ts';
import type { Scenario } from '../scenario.ts';
import { rotated } from '../statistics.ts';
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
    const samples = new Map<string, number[]>();
    const contenders = compared(bench, [undiciFloor, haproxyJwt, apacheOpenidc, express]);
    await bench.with(contenders, async (running) => {
      for (let round = 0; round < WARM_UP_ROUNDS + bench.rounds; round += 1) {
        const tokens = await Promise.all(Array.from({ length: TOKENS }, () => bench.token()));
        for (const [name, { url, pids }] of rotated([...running], round)) {
          const requests = tokens.map((token) => bytesOf(url, requestOf('get', token)));
          const before = cpuMicroseconds(pids);
          const { failed } = await each(url, requests, CONNECTIONS);
          if (failed > 0) throw new Error(`${name}: ${failed} requests failed`);
          const cpu = (cpuMicroseconds(pids) - before) / TOKENS;
          if (round >= WARM_UP_ROUNDS) samples.set(name, [...(samples.get(name) ?? []), cpu]);
        }
      }
    });
    return cpuLines(samples, contenders, { 'haproxy-jwt': 2.5 });
  },
};
