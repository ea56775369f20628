import { createHmac, createPublicKey, sign } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createKey, type IssuerKey } from '../support/issuer.ts';
import { get } from './requests.ts';
import { type AttackWorld, AUDIENCE, startAttackWorld } from '../worlds/attacks.ts';

let world: AttackWorld;
let attacker: IssuerKey;
/** Publishes the attacker's key, and counts who asks for it. */
let theirs: Server;
let asked = 0;
beforeAll(async () => {
  // Each of them would otherwise count.
  world = await startAttackWorld({ yaml: 'limits: { failures: off }' });
  attacker = await createKey('k1');
  theirs = createServer((_request, response) => {
    asked += 1;
    response.end(JSON.stringify({ keys: [attacker.publicJwk] }));
  });
  await new Promise<void>((resolve) => theirs.listen(0, '127.0.0.1', resolve));
});
beforeEach(() => {
  asked = 0;
});
afterAll(async () => {
  await world.close();
  theirs.close();
});

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
const base64url = (value: unknown): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');
const now = (): number => Math.floor(Date.now() / 1000);
const claims = (): object => ({ iss: world.issuer.url, sub: 'admin', aud: AUDIENCE, scope: 'read', exp: now() + 300 });

/** A token with any header, signed by anything. */
function forged(header: object, signature: (input: string) => string): string {
  const input = `${base64url(header)}.${base64url(claims())}`;
  return `${input}.${signature(input)}`;
}

/** A token that the attacker signed well, by his own key. */
const byAttacker = (header: object): string =>
  forged({ alg: 'RS256', typ: 'at+jwt', ...header }, (input) =>
    sign('sha256', Buffer.from(input), attacker.privateKey as never).toString('base64url'),
  );

async function expectRefused(token: string): Promise<void> {
  world.secrets.push(token);
  const { decisions } = await world.withstand(get('/api', token), { statuses: [401] });
  expect(decisions).toMatchObject([{ allow: false, reason: expect.stringMatching(/^token\./) as string }]);
  expect(asked, 'no request to a server that the token names').toBe(0);
}

/** Everything by which a token may say which key is good for it. */
const tricks = (): readonly object[] => {
  const { port } = theirs.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}/jwks`;
  return [
    {},
    { kid: 'k1' },
    { kid: 'unknown' },
    { kid: '../../../dev/null' },
    { kid: "' OR 1=1 --" },
    { kid: '__proto__' },
    { kid: url },
    { jwk: attacker.publicJwk },
    { jwk: attacker.publicJwk, kid: 'k1' },
    { jku: url },
    { jku: url, kid: 'k1' },
    { x5u: url },
    { x5c: [Buffer.from('certificate').toString('base64')] },
    { x5t: 'x', 'x5t#S256': 'x' },
    { crit: ['exp'], exp: 1 },
    { crit: ['b64'], b64: false },
    { crit: [] },
    { crit: 'b64' },
    { zip: 'DEF' },
    { cty: 'JWT' },
    { enc: 'A128GCM' },
    { iss: 'x', aud: 'y' },
  ];
};

const symmetric = ['HS256', 'HS384', 'HS512'] as const;

describe('an algorithm that needs no secret', () => {
  test.each([
    ['none'],
    ['None'],
    ['NONE'],
    ['nOnE'],
    [''],
    [' none'],
    ['none '],
    [null],
    [undefined],
    [0],
    [[]],
    [['RS256']],
  ])('is refused: alg %j, with each header that might choose a key', async (alg) => {
    for (const trick of alg === 'none' ? tricks() : [{}, { kid: 'k1' }]) {
      for (const signature of ['', 'AA'])
        await expectRefused(forged({ alg, typ: 'at+jwt', ...trick }, () => signature));
    }
  });

  test.each(symmetric)('is refused: %s, with published values as the secret', async (alg) => {
    const jwk = world.issuer.key.publicJwk;
    const key = createPublicKey({ key: jwk, format: 'jwk' });
    const secrets = [
      key.export({ type: 'spki', format: 'pem' }),
      String(key.export({ type: 'spki', format: 'pem' })).trim(),
      key.export({ type: 'spki', format: 'der' }),
      key.export({ type: 'pkcs1', format: 'pem' }),
      JSON.stringify(jwk),
      String(jwk.n),
      Buffer.from(String(jwk.n), 'base64url'),
      'k1',
      '',
    ];
    for (const secret of secrets) {
      for (const header of [{ kid: 'k1' }, {}]) {
        const token = forged({ alg, typ: 'at+jwt', ...header }, (input) =>
          createHmac(`sha${alg.slice(2)}`, secret)
            .update(input)
            .digest('base64url'),
        );
        await expectRefused(token);
      }
    }
  });
});

describe('a key in the header of a token, or a URL of one', () => {
  test('is ignored', async () => {
    for (const trick of tricks()) await expectRefused(byAttacker(trick));
  });

  test.each([
    'RS384',
    'RS512',
    'PS256',
    'ES256',
    'EdDSA',
    'rs256',
    'RS256 ',
    'RSA-OAEP',
    'dir',
    'A128KW',
    'constructor',
  ])('refuses alg %s, which is not configured', async (alg) => {
    for (const trick of [{ kid: 'k1' }, { jwk: attacker.publicJwk }])
      await expectRefused(byAttacker({ ...trick, alg }));
  });
});

describe('a valid token', () => {
  test('is refused with another header, other claims or another signature', async () => {
    const good = await world.token();
    const [header = '', payload = '', signature = ''] = good.split('.');
    const escalated = base64url({ ...claims(), scope: 'read admin' });
    for (const token of [
      `${base64url({ alg: 'RS256', kid: 'k1', typ: 'JWT' })}.${payload}.${signature}`,
      `${header}.${escalated}.${signature}`,
      `${header}.${payload}.${signature.slice(0, -2)}`,
      `${header}.${payload}.${'A'.repeat(signature.length)}`,
      `${header}.${payload}.`,
      `${header}.${payload}`,
      `${header}..${signature}`,
      `.${payload}.${signature}`,
      `${good}.${signature}`,
      `${header}.${payload}.${signature}==`,
      `${header}.${payload}.${signature}.${header}.${payload}`,
      `${'A'.repeat(10_000)}.${payload}.${signature}`,
    ]) {
      await expectRefused(token);
    }
  });

  test('is refused in other spellings of its signature, which would each fill an entry of the cache', async () => {
    const good = await world.token();
    // One byte more than whole groups of three: four bits of the last letter mean nothing.
    const last = alphabet.indexOf(good.at(-1) ?? '');
    const spare = [1, 2, 3].map((bits) => good.slice(0, -1) + alphabet.charAt((last & ~3) | ((last + bits) & 3)));
    const signature = good.slice(good.lastIndexOf('.') + 1);
    const letters = good.replace(signature, signature.replaceAll('-', '+').replaceAll('_', '/'));
    for (const token of [`${good}=`, `${good}==`, `${good}${'='.repeat(1000)}`, letters, ...spare])
      await expectRefused(token);
  });

  test.each(['sig', 'enc', 'x', ''])('is refused if the use of its published key is %j', async (use) => {
    const other = await createKey('k2');
    world.issuer.keys = [world.issuer.key.publicJwk, { ...other.publicJwk, use }];
    try {
      await expectRefused(await world.issuer.sign({ aud: AUDIENCE, scope: 'read' }, { key: { ...other, kid: 'k1' } }));
    } finally {
      world.issuer.keys = [world.issuer.key.publicJwk];
    }
  });
});
