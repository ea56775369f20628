/**
 * Tokens that the gateway has not seen before.
 *
 * @module
 */
import type { Bench } from '../bench.ts';
import { cpuLines } from '../compare-cpu.ts';
import { apacheOpenidc } from '../contenders/apache-openidc.ts';
import { compared } from '../contenders/compared.ts';
import { express } from '../contenders/express.ts';
import { haproxyJwt } from '../contenders/haproxy-jwt.ts';
import { createSallyport } from '../contenders/sallyport.ts';
import { undiciFloor } from '../contenders/undici-floor.ts';
import type { Surroundings } from '../contender.ts';
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

/** Many requests with one opaque token, before its first introspection has an answer. */
export const stampede: Scenario = {
  name: 'stampede',
  about: `${TOKENS} requests at once with one new opaque token, on a route that exchanges tokens`,
  async run(bench) {
    const { issuer } = bench;
    const counts = new Map<string, number>();
    issuer.intercept = (request, response, body) => {
      const operation = request.url ?? '';
      counts.set(operation, (counts.get(operation) ?? 0) + 1);
      if (operation !== '/token') return false;
      response.writeHead(200, { 'content-type': 'application/json' });
      const issued_token_type = 'urn:ietf:params:oauth:token-type:access_token';
      const token = { access_token: `for-${body.length}`, issued_token_type, token_type: 'Bearer', expires_in: 600 };
      response.end(JSON.stringify(token));
      return true;
    };
    try {
      const failed = await stampeded(bench);
      const asked = { introspections: counts.get('/introspect') ?? 0, exchanges: counts.get('/token') ?? 0 };
      const met = failed === 0 && asked.introspections === 1 && asked.exchanges === 1;
      const reached = `${asked.introspections} and ${asked.exchanges}`;
      return [
        {
          subject: 'sallyport',
          cells: { introspections: `${asked.introspections}`, exchanges: `${asked.exchanges}`, failed: `${failed}` },
          aims: [{ what: 'introspections and exchanges', at: 'one of each', reached, met }],
        },
      ];
    } finally {
      issuer.intercept = undefined;
    }
  },
};

async function stampeded(bench: Bench): Promise<number> {
  const { issuer, surroundings } = bench;
  const exp = Math.floor(Date.now() / 1000) + 3600;
  const claims = { iss: issuer.url, aud: surroundings.audience, sub: 'alice', scope: 'read', tenant: 'acme', exp };
  issuer.introspection.set('unseen', { active: true, ...claims });
  const sallyport = createSallyport({ name: 'sallyport-exchange', routes: exchangingRoute });
  return bench.with([sallyport], async (running) => {
    const url = running.get(sallyport.name)?.url ?? '';
    const bytes = bytesOf(url, requestOf('get', 'unseen'));
    const { failed } = await each(
      url,
      Array.from({ length: TOKENS }, () => bytes),
      TOKENS,
    );
    return failed;
  });
}

function exchangingRoute({ upstream, audience }: Surroundings): readonly object[] {
  const exchange = {
    server: 'main',
    client_id: 'gateway',
    client_secret: 'secret',
    audience: 'https://backend.example',
  };
  const to = { url: `${upstream}/api`, token: 'exchange', exchange };
  return [{ name: 'api', path: '/api', audience, policy: 'reader', upstream: to }];
}
