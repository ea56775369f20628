import { afterAll, beforeAll, expect, test } from 'vitest';
import { callOf, get, post } from './requests.ts';
import { type AttackWorld, AUDIENCE, startAttackWorld } from '../worlds/attacks.ts';

let world: AttackWorld;
beforeAll(async () => {
  world = await startAttackWorld({
    yaml: 'limits: { failures: off }',
    server: 'introspection: { client_id: gateway, client_secret: s3cr3t }',
  });
});
afterAll(() => world.close());

/** What is in the place of a name. Two callers who have it would be one: for sessions, tasks, quotas and proofs. */
const names: readonly unknown[] = ['', null, 0, false, [], {}, ['alice']];

test.for(['sub', 'client_id', 'azp'].flatMap((claim) => names.map((value) => [claim, value] as const)))(
  'refuses a token, JWT or opaque, whose %s is %j',
  async ([claim, value]) => {
    const expected = { statuses: [401], reasons: ['token.claims' as const] };
    const claims = { ...(claim === 'azp' && { client_id: undefined }), [claim]: value };
    const jwt = await world.token(claims);
    await world.withstand(get('/api', jwt), expected);
    await world.withstand(post(`Authorization: Bearer ${jwt}`, callOf('get_price')), expected);
    const opaque = `${claim}-${JSON.stringify(value).length}-${names.indexOf(value)}`;
    world.issuer.introspection.set(opaque, { active: true, scope: 'read', aud: AUDIENCE, ...claims });
    const { answers } = await world.withstand(get('/api', opaque), expected);
    expect(answers).toHaveLength(1);
  },
);
