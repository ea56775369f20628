import { describe, expect, test } from 'vitest';
import type { Dpop } from '../../src/model/route.ts';
import { type Row, refused, route, upstream } from './edits.ts';
import { edited, loaded } from './folder.ts';

const trusting = 'authorization_servers: [main, other]';

/** A route that trusts `main` and `other`, with what each says of its tokens. */
function both(main: string, other: string, lines = trusting): string {
  return edited(
    ['s3cr3t }', `s3cr3t${main} }`],
    ['routes:', `  other: { issuer: "http://x", introspection: { client_id: a, client_secret: b${other} } }\nroutes:`],
    route(lines),
  );
}

const place = ':12:28: routes[0].authorization_servers';
const shown = `${place}: main and other would receive the opaque tokens of each other on route "api": set introspection.prefix of`;
const remedy = ', or opaque_tokens: shown_to_all on the route';

describe('opaque tokens on a route that trusts several servers with introspection', () => {
  test.each<Row>([
    ['need a prefix of each server', both('', ''), `${shown} main and other${remedy}`],
    ['need a prefix of the last server too', both(', prefix: main_', ''), `${shown} other${remedy}`],
    [
      'need prefixes if the route sets by_prefix',
      both('', '', `${trusting}\n    opaque_tokens: by_prefix`),
      `${shown} main and other${remedy}`,
    ],
    [
      'refuse two equal prefixes',
      both(', prefix: x_', ', prefix: x_'),
      `${place}: introspection.prefix of main (x_) and of other (x_) overlap: neither may begin with the other`,
    ],
    [
      'refuse a prefix that begins with another, in either order',
      both(', prefix: x_y', ', prefix: x', `${trusting}\n    opaque_tokens: shown_to_all`),
      `${place}: introspection.prefix of main (x_y) and of other (x) overlap: neither may begin with the other`,
    ],
    ['are sent to all servers if the route says so', both('', '', `${trusting}\n    opaque_tokens: shown_to_all`)],
    ['belong to the server with their prefix', both(', prefix: main_', ', prefix: other_')],
    ['need no prefix on a route that accepts only JWTs', both('', '', `${trusting}\n    tokens: [jwt]`)],
    ['need no prefix if the route trusts one server', both('', '', 'authorization_servers: [main]')],
    [
      'refuse an unknown word',
      both('', '', `${trusting}\n    opaque_tokens: all\n    tokens: [jwt]`),
      ':13:20: routes[0].opaque_tokens: "all" is not by_prefix or shown_to_all',
    ],
    [
      'are refused on a public route',
      edited(['audience: https://api.example', 'public: true'], route('opaque_tokens: by_prefix')),
      ':11:5: routes[0].opaque_tokens: cannot be combined with public: true',
    ],
  ])('%s', async (_title, yaml, ...lines) => {
    expect(await refused(yaml)).toEqual(lines);
  });
});

const defaults: Dpop = {
  required: false,
  nonce: false,
  algorithms: 'ES256, ES384, ES512, EdDSA, Ed25519, PS256, PS384, PS512, RS256, RS384, RS512'.split(', '),
  lifetimeMs: 300_000,
};

describe('dpop', () => {
  test.each<readonly [string, Dpop]>([
    ['{}', defaults],
    ['{ required: true }', { ...defaults, required: true }],
    ['{ required: false, nonce: false }', defaults],
    [
      '{ nonce: true, algorithms: [ES256, EdDSA], proof_lifetime: 1m }',
      { ...defaults, nonce: true, algorithms: ['ES256', 'EdDSA'], lifetimeMs: 60_000 },
    ],
    [
      '{ algorithms: ["${env:ALG:-PS256}"], proof_lifetime: "${env:AGE:-10s}" }',
      { ...defaults, algorithms: ['PS256'], lifetimeMs: 10_000 },
    ],
  ])('%s', async (yaml, expected) => {
    const { routes } = await loaded({ yaml: edited(route(`dpop: ${yaml}`)) });
    expect(routes[0]?.dpop).toEqual(expected);
  });

  test('is off by default', async () => {
    expect((await loaded({ yaml: edited() })).routes[0]?.dpop).toBeUndefined();
  });

  test('is accepted on every kind of route except a public one', async () => {
    expect(await refused(edited(route('dpop: {}\n    upgrade: websocket')))).toEqual([]);
    expect(await refused(edited(route('dpop: {}\n    protocol: mcp')))).toEqual([]);
  });

  test.each<Row>([
    ['true', edited(route('dpop: true')), ':11:11: routes[0].dpop: expected a mapping, found true'],
    [
      'nothing',
      edited(route('dpop:')),
      ':11:10: routes[0].dpop: expected a mapping, found nothing; write {} for an empty one',
    ],
    [
      'another key',
      edited(route('dpop: { require: true }')),
      ':11:13: routes[0].dpop.require: unknown key (did you mean required?); accepted: required, nonce, algorithms, proof_lifetime',
    ],
    [
      'required as a string',
      edited(route('dpop: { required: yes }')),
      ':11:23: routes[0].dpop.required: expected true or false, found a string',
    ],
    [
      'a symmetric algorithm',
      edited(route('dpop: { algorithms: [HS256] }')),
      ':11:26: routes[0].dpop.algorithms[0]: "HS256" is symmetric: every party that can verify such a token can also forge one',
    ],
    [
      'none',
      edited(route('dpop: { algorithms: [none] }')),
      ':11:26: routes[0].dpop.algorithms[0]: "none" means unsigned: any party could make such a token',
    ],
    ['no algorithm', edited(route('dpop: { algorithms: [] }')), ':11:25: routes[0].dpop.algorithms: must not be empty'],
    [
      'a proof lifetime above the maximum',
      edited(route('dpop: { proof_lifetime: 6m }')),
      ':11:29: routes[0].dpop.proof_lifetime: "6m" is too long: at most 5m',
    ],
    [
      'token: forward',
      edited(route('dpop: {}'), upstream('token: forward')),
      ':11:5: routes[0].dpop: cannot be combined with token: forward: the upstream cannot check a proof made for the gateway',
    ],
  ])('refuses %s', async (_title, yaml, ...lines) => {
    expect(await refused(yaml)).toEqual(lines);
  });
});
