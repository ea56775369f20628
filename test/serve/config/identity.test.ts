import { describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { signedIdentity } from '../../../src/capabilities/signed-identity/slot.ts';
import type { Route } from '../../../src/core/model/route.ts';
import { notFree, refused, refuses, route, upstream } from './edits.ts';
import { at, everyKey, places, replaced } from './every-key.ts';
import { edited, loaded, refusals } from './folder.ts';
import { wordsIn } from '../../support/words-in.ts';

const identity = (members: string): string => edited(upstream(`identity: { ${members} }`));

async function read(members: string): Promise<Route> {
  const config = await loaded({ yaml: identity(members), env: { HEADER: 'X-Env' } });
  return config.routes[0] as Route;
}

describe('signed', () => {
  const audience = 'http://127.0.0.1:3000';
  test.each([
    // The URL of the upstream is the audience by default.
    ['signed: X-Auth-Identity, x-sub: sub', { header: 'x-auth-identity', audience, claims: [] }],
    [
      'signed: { header: x-id, audience: b, claims: [risk, /a/b] }',
      { header: 'x-id', audience: 'b', claims: ['risk', '/a/b'] },
    ],
    ['signed: "${env:HEADER}"', { header: 'x-env', audience, claims: [] }],
    ['x-sub: sub', undefined],
  ])('%s', async (members, settings) => {
    const found = await read(members);
    expect(signedIdentity.of(found)).toEqual(settings);
    expect(found.upstream.statements).toEqual(settings === undefined ? [] : [settings]);
  });

  refuses(`
upstream identity: { Signed: x }
  :13:19: routes[0].upstream.identity.Signed: is not a header name; write signed for a signed identity
upstream identity: { signed: {} } → :13:27: routes[0].upstream.identity.signed: missing key: header
upstream identity: { signed: [x] }
  :13:27: routes[0].upstream.identity.signed: expected a header name, or a mapping with one, found a list
upstream identity: { signed: "x y" } → :13:27: routes[0].upstream.identity.signed: "x y" is not a header name
upstream identity: { signed: { header: "x:" } }
  :13:37: routes[0].upstream.identity.signed.header: "x:" is not a header name
upstream identity: { signed: cookie }
  :13:27: routes[0].upstream.identity.signed: "cookie" is reserved; choose a header name such as x-auth-subject
upstream identity: { x_a: sub, signed: X-A }
  :13:37: routes[0].upstream.identity.signed: "X-A" is the same header as x_a
upstream identity: { signed: { header: x-a, key: b } }
  :13:42: routes[0].upstream.identity.signed.key: unknown key; accepted: …
upstream identity: { signed: { header: x-a, audience: "" } }
  :13:52: routes[0].upstream.identity.signed.audience: must not be empty
upstream identity: { signed: { header: x-a, claims: [exp] } }
  :13:51: routes[0].upstream.identity.signed.claims[0]: "exp" is reserved in a signed identity
upstream identity: { signed: { header: x-a, claims: ["/a~2"] } }
  :13:51: routes[0].upstream.identity.signed.claims[0]: "/a~2" is not a JSON Pointer, RFC 6901 §3
upstream identity: { signed: { header: x-a, claims: [a, a] } }
  :13:54: routes[0].upstream.identity.signed.claims[1]: is listed twice
no audience & route public: true & upstream identity: { signed: x-a }
  :13:7: routes[0].upstream.identity: cannot be combined with public: true
`);
});

describe('a plain header', () => {
  test.each(wordsIn`
    Host authorization Transfer-Encoding connection content-length cookie x-forwarded-for x_forwarded_for mcp-session-id
    CF-Connecting-IP True-Client-IP X-Client-IP Client-Cert x-envoy-external-address X-Azure-ClientIP
    X-AppEngine-User-IP X-SSL-Client-Verify X-Remote-Addr X.Forwarded.For Accept-Encoding DPoP
  `)('refuses %s, which proxies and servers trust', async (name) => {
    expect(await refused(identity(`${name}: sub`))).toEqual([expect.stringContaining(notFree)]);
  });

  test.each(['Remote-User', 'X-Remote-User', 'X-Remote-Group', 'X-Auth-Request-User', 'X-WebAuth-User'])(
    'accepts %s, which by custom names the caller',
    async (name) => {
      expect((await read(`${name}: sub`)).upstream.identity).toEqual(new Map([[name.toLowerCase(), 'sub']]));
    },
  );

  test('refuses two names that CGI reads as one header', async () => {
    expect(await refused(identity('x-a: sub, x.a: sub'))).toEqual([
      ':13:29: routes[0].upstream.identity["x.a"]: is the same header as x-a',
    ]);
  });
});

test('does not affect another route', async () => {
  expect(await refused(edited(route('methods: [GET]'), upstream('identity: { signed: x-a }')))).toEqual([]);
});

/** Every place of the configuration that has all keys at which a claim is named, by the names of the keys. */
const claimPlaces = places(everyKey).filter(
  (path) =>
    typeof at(everyKey, path) === 'string' &&
    (path.includes('claims') || path.at(-2) === 'identity') &&
    // A registered client has the values of claims, not their names.
    !path.includes('registered'),
);

test.each(claimPlaces.map((path) => [path.join('.'), path] as const))(
  'a placeholder is not the name of a claim at %s',
  async (_title, path) => {
    const lines = await refusals({ yaml: stringify(replaced(everyKey, path, '${env:CLAIM:-s3cret}')) });
    const [found = '', ...others] = lines.filter((line) => line.includes('is a placeholder'));
    expect(others).toEqual([]);
    expect(found).toMatch(
      /: "\$\{env:CLAIM:-…\}" is a placeholder, and the value is the name of a claim: write a name/,
    );
  },
);

test('the places that take the name of a claim are those of headers, statements, the log and the front door', () => {
  const sections = claimPlaces.map((path) =>
    path
      .filter((step) => step !== 0 && step !== 1)
      .slice(0, -1)
      .join('.'),
  );
  expect([...new Set(sections)]).toEqual([
    'front_door.identity_providers.corporate.claims',
    'front_door.assertions.acme.claims',
    'front_door.workloads.cluster.claims',
    'log',
    'routes.upstream.identity.signed',
    'routes.upstream.identity',
  ]);
});
