import { describe, expect, test } from 'vitest';
import type { Dpop } from '../../src/model/route.ts';
import { refused, route, type Row, upstream } from './edits.ts';
import { edited, loaded } from './folder.ts';

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

  test('is off without it', async () => {
    expect((await loaded({ yaml: edited() })).routes[0]?.dpop).toBeUndefined();
  });

  test('goes with every kind of route but a public one', async () => {
    expect(await refused(edited(route('dpop: {}\n    upgrade: websocket')))).toEqual([]);
    expect(await refused(edited(route('dpop: {}\n    protocol: mcp')))).toEqual([]);
  });

  test.each<Row>([
    ['true', edited(route('dpop: true')), ':11:11: routes[0].dpop: expected a mapping, found true'],
    ['nothing', edited(route('dpop:')), ':11:10: routes[0].dpop: expected a mapping, found nothing'],
    [
      'another key',
      edited(route('dpop: { require: true }')),
      ':11:13: routes[0].dpop.require: unknown key (did you mean required?); accepted: required, nonce, algorithms, proof_lifetime',
    ],
    [
      'required, perhaps',
      edited(route('dpop: { required: yes }')),
      ':11:23: routes[0].dpop.required: expected true or false, found a string',
    ],
    [
      'a symmetric algorithm',
      edited(route('dpop: { algorithms: [HS256] }')),
      ':11:26: routes[0].dpop.algorithms[0]: "HS256" is symmetric: whoever can check such a token can also forge one',
    ],
    [
      'none',
      edited(route('dpop: { algorithms: [none] }')),
      ':11:26: routes[0].dpop.algorithms[0]: "none" means unsigned: anybody could make such a token',
    ],
    ['no algorithm', edited(route('dpop: { algorithms: [] }')), ':11:25: routes[0].dpop.algorithms: must not be empty'],
    [
      'proofs that live too long',
      edited(route('dpop: { proof_lifetime: 6m }')),
      ':11:29: routes[0].dpop.proof_lifetime: "6m" is too long: at most 5m',
    ],
    [
      'token: forward',
      edited(route('dpop: {}'), upstream('token: forward')),
      ':11:5: routes[0].dpop: cannot be combined with token: forward: the upstream could not check a proof that was made for us',
    ],
  ])('%s: refused', async (_title, yaml, ...lines) => {
    expect(await refused(yaml)).toEqual(lines);
  });
});
