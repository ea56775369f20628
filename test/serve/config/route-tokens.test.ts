import { describe, expect, test } from 'vitest';
import { dpop, type Dpop } from '../../../src/capabilities/possession/settings.ts';
import { refused, refuses, route } from './edits.ts';
import { edited, loaded } from './folder.ts';

const introspecting = (prefix: string): string =>
  `introspection { client_id: gateway, client_secret: s3cr3t, prefix: ${prefix} } & `;
/** A second server with introspection, and the route that trusts both. */
const two = (more = ''): string =>
  `servers other: { issuer: "http://x", introspection: { client_id: a, client_secret: b${more} } } & route authorization_servers: [main, other]`;
const place = ':12:28: routes[0].authorization_servers:';
const shown = `${place} main and other would receive the opaque tokens of each other on route "api": set introspection.prefix of`;
const remedy = ', or opaque_tokens: shown_to_all on the route';

describe('opaque tokens on a route that trusts several servers with introspection', () => {
  refuses(`
${two()}
  ${shown} main and other${remedy}
${introspecting('main_')}${two()}
  ${shown} other${remedy}
${two()}⏎opaque_tokens: by_prefix
  ${shown} main and other${remedy}
${introspecting('x_')}${two(', prefix: x_')}
  ${place} introspection.prefix of main (x_) and of other (x_) overlap: neither may begin with the other
${introspecting('x_y')}${two(', prefix: x')}⏎opaque_tokens: shown_to_all
  ${place} introspection.prefix of main (x_y) and of other (x) overlap: neither may begin with the other
${two()}⏎opaque_tokens: shown_to_all → accepted
${introspecting('main_')}${two(', prefix: other_')} → accepted
${two()}⏎tokens: [jwt] → accepted
${two().replace('[main, other]', '[main]')} → accepted
${two()}⏎opaque_tokens: all⏎tokens: [jwt]
  :13:20: routes[0].opaque_tokens: "all" is neither by_prefix nor shown_to_all
no audience & route public: true⏎opaque_tokens: by_prefix
  :11:5: routes[0].opaque_tokens: cannot be combined with public: true
`);
});

const defaults: Dpop = {
  required: false,
  nonce: false,
  algorithms: 'ES256, ES384, ES512, EdDSA, Ed25519, PS256, PS384, PS512, RS256, RS384, RS512'.split(', '),
  proofLifetimeMs: 300_000,
};

describe('dpop', () => {
  test.each<readonly [string, Dpop]>([
    ['{}', defaults],
    ['{ required: true }', { ...defaults, required: true }],
    ['{ required: false, nonce: false }', defaults],
    [
      '{ nonce: true, algorithms: [ES256, EdDSA], proof_lifetime: 1m }',
      { ...defaults, nonce: true, algorithms: ['ES256', 'EdDSA'], proofLifetimeMs: 60_000 },
    ],
    [
      '{ algorithms: ["${env:ALG:-PS256}"], proof_lifetime: "${env:AGE:-10s}" }',
      { ...defaults, algorithms: ['PS256'], proofLifetimeMs: 10_000 },
    ],
  ])('%s', async (yaml, expected) => {
    const { routes } = await loaded({ yaml: edited(route(`dpop: ${yaml}`)) });
    expect(routes[0] && dpop.of(routes[0])).toEqual(expected);
  });

  test('is off by default', async () => {
    expect((await loaded({ yaml: edited() })).routes[0]?.proofs).toBeUndefined();
  });

  test('is accepted on every kind of route except a public one', async () => {
    expect(await refused(edited(route('dpop: {}\n    upgrade: websocket')))).toEqual([]);
    expect(await refused(edited(route('dpop: {}\n    protocol: mcp')))).toEqual([]);
  });

  refuses(`
route dpop: true → :11:11: routes[0].dpop: expected a mapping, found true; write {} for an empty one
route dpop: → :11:10: routes[0].dpop: expected a mapping, found nothing; write {} for an empty one
route dpop: { require: true }
  :11:13: routes[0].dpop.require: unknown key (did you mean required?); accepted: …
route dpop: { required: yes }
  :11:23: routes[0].dpop.required: expected true or false, found a string; "yes" is a text in YAML 1.2: write true
route dpop: { algorithms: [HS256] }
  :11:26: routes[0].dpop.algorithms[0]: "HS256" is symmetric: every party that can verify such a token can also forge one
route dpop: { algorithms: [none] }
  :11:26: routes[0].dpop.algorithms[0]: "none" means unsigned: any party could make such a token
route dpop: { algorithms: [] } → :11:25: routes[0].dpop.algorithms: must not be empty
route dpop: { proof_lifetime: 6m } → :11:29: routes[0].dpop.proof_lifetime: "6m" is too long: at most 5m
route dpop: {} & upstream token: forward
  :11:5: routes[0].dpop: cannot be combined with token: forward: the upstream cannot check a proof made for the gateway
`);
});
