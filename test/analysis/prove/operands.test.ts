// oxlint-disable unicorn/no-thenable -- `then` is a key of properties.
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { PolicyDocument, ValueDocument } from '../../../src/core/policy/document.ts';
import { PolicyError } from '../../../src/core/policy/document.ts';
import type { PropertyDocument } from '../../../src/policy-files/property.ts';
import { isExpected } from '../../../src/policy-files/property.ts';
import { isDescribed, prove } from '../../../src/analysis/prove/prove.ts';
import { property } from '../../support/property.ts';
import { compiled, deciding, MAX_STEPS, policyOf } from './deciding.ts';

type Row = readonly [policy: PolicyDocument, property: Omit<PropertyDocument, 'name'>, outcome: string];

const tools = (args: object, more: object = {}): PolicyDocument => ({
  tools: { read: { arguments: args as never, ...more } },
});
const denies = (args: object, for_all: PropertyDocument['for_all'] = {}): Omit<PropertyDocument, 'name'> => ({
  for_all,
  when: { tool: 'read', arguments: args as never },
  then: 'deny',
});
const allows = (args: object, for_all: PropertyDocument['for_all'] = {}): Omit<PropertyDocument, 'name'> => ({
  ...denies(args, for_all),
  then: 'allow',
});

const api = (requests: object): PolicyDocument => ({ requests: requests as never });
const uris = (resources: object): PolicyDocument => ({ resources: resources as never });
const about = (
  when: object,
  then: PropertyDocument['then'] = 'deny',
  for_all: PropertyDocument['for_all'] = {},
): Omit<PropertyDocument, 'name'> => ({ for_all, when, then });
const ownId = { variables: { id: { claim: 'sub' } } };
const notOwnId = { request: 'GET /users/{id}/**', variables: { id: { not: { claim: 'sub' } } } };
const ownTenant = { variables: { tenant: { claim: 'tenant' } } };
const notOwnTenant = { resource: 'crm://{tenant}/**', variables: { tenant: { not: { claim: 'tenant' } } } };

const ownUser = { variables: { user: { claim: 'sub' } } };
const ownT = { variables: { t: { claim: 'tenant' } } };
const own = { '/tenant': { claim: 'tenant' } };
const rows: readonly Row[] = [
  [tools(own), denies({ '/tenant': { not: { claim: 'tenant' } } }), 'holds'],
  [tools(own), allows({ '/tenant': { claim: 'tenant' } }), 'holds'],
  [tools(own), denies({ '/tenant': { claim: 'tenant' } }), 'fails'],
  [tools(own), allows({ '/tenant': { not: { claim: 'other' } } }), 'fails'],
  [tools({}), denies({ '/tenant': { not: { claim: 'tenant' } } }), 'fails'],
  [tools({ '/tenant': { claim: 'org' } }), denies({ '/tenant': { not: { claim: 'tenant' } } }), 'fails'],
  // The complement, where the claim is absent too.
  [tools({ '/tenant': { not: { claim: 'tenant' } } }), denies({ '/tenant': { claim: 'tenant' } }), 'holds'],
  [tools({ '/tenant': { not: { claim: 'tenant' } } }), denies({}, { claims: { tenant: { present: false } } }), 'holds'],
  [tools({ '/tenant': { not: { claim: 'tenant' } } }), allows({ '/tenant': { not: { claim: 'tenant' } } }), 'fails'],
  // With constants.
  [tools(own), denies({ '/tenant': 'acme' }, { not: { claims: { tenant: 'acme' } } }), 'holds'],
  [tools(own), denies({ '/tenant': { not: 'acme' } }, { claims: { tenant: 'acme' } }), 'holds'],
  [tools(own), denies({ '/tenant': 'acme' }, { claims: { tenant: { matches: '^a' } } }), 'fails'],
  [tools(own), denies({ '/tenant': { matches: '^b' } }, { claims: { tenant: { matches: '^a' } } }), 'holds'],
  [tools(own), denies({ '/tenant': { integer: true } }, { claims: { tenant: 5 } }), 'fails'],
  [tools(own), denies({ '/tenant': 5 }, { claims: { tenant: '5' } }), 'holds'],
  // Two arguments and one claim.
  [
    tools({ '/from': { claim: 'account' }, '/to': { not: { claim: 'account' } } }),
    denies({ '/from': { claim: 'account' }, '/to': { claim: 'account' } }),
    'holds',
  ],
  // Variables of requests.
  [api({ 'GET /users/{id}/**': ownId }), about(notOwnId), 'holds'],
  [api({ 'GET /users/{id}/**': {} }), about(notOwnId), 'fails'],
  [api({ 'GET /users/{id}/**': ownId }), about({ ...notOwnId, variables: { id: { claim: 'sub' } } }), 'fails'],
  [api({ 'GET /users/{id}/**': ownId }), about({ ...notOwnId, variables: { id: { claim: 'sub' } } }, 'allow'), 'holds'],
  [api({ 'GET /users/{id}/**': ownId }), { for_all: {}, when: notOwnId, then: { deny: 'variable.denied' } }, 'holds'],
  [api({ 'GET /users/{id}/**': { variables: { id: { claim: 'org' } } } }), about(notOwnId), 'fails'],
  [
    api({ 'GET /users/{id}/**': ownId }),
    about({ ...notOwnId, variables: { id: 'alice' } }, 'deny', { not: { claims: { sub: 'alice' } } }),
    'holds',
  ],
  // One entry forgets the comparison.
  [api({ 'GET /users/{id}/**': ownId, 'GET /users/*/photo': {} }), about(notOwnId), 'fails'],
  [api({ 'GET /users/{id}/**': ownId, 'GET /users/{user}/photo': ownUser }), about(notOwnId), 'holds'],
  [api({ 'GET /users/{id}/**': ownId, 'GET /users/public': {} }), about(notOwnId), 'fails'],
  [
    api({ 'GET /users/{id}/**': ownId, 'GET /users/public': {} }),
    about(notOwnId, 'deny', { claims: { sub: { matches: '^u-' } } }),
    'fails',
  ],
  [api({ 'GET /users/{id}/**': ownId, 'POST /users/**': {} }), about(notOwnId), 'holds'],
  [
    api({ 'POST /t/{tenant}/o/{order}': { variables: { tenant: { claim: 't' }, order: { matches: '^[0-9]+$' } } } }),
    about({ request: 'POST /t/{tenant}/o/{order}', variables: { order: { not: { matches: '^[0-9]{1,}$' } } } }),
    'holds',
  ],
  [
    api({ 'POST /t/{tenant}/o/{order}': { variables: { tenant: { claim: 't' }, order: { claim: 't' } } } }),
    about({ request: 'POST /t/{tenant}/o/{order}', variables: { tenant: 'a', order: 'b' } }),
    'holds',
  ],
  [
    api({ 'GET /t/{a}/{b}': { variables: { a: { one_of: { claim: 'all' } } } } }),
    about({ request: 'GET /t/{a}/{b}', variables: { a: { not: { one_of: { claim: 'all' } } } } }),
    'holds',
  ],
  // The text that an exact entry has.
  [
    api({ 'GET /users/{id}': {}, 'GET /users/admin': { scope: 'admin' } }),
    about({ request: 'GET /users/{id}', variables: { id: 'admin' } }, 'deny', { not: { scope: 'admin' } }),
    'undecided',
  ],
  // Variables of resources.
  [uris({ 'crm://{tenant}/**': ownTenant }), about(notOwnTenant), 'holds'],
  [uris({ 'crm://{tenant}/**': {} }), about(notOwnTenant), 'fails'],
  [uris({ 'crm://{tenant}/**': ownTenant, 'crm://{t}/deals/*': ownT }), about(notOwnTenant), 'holds'],
  [uris({ 'crm://{tenant}/**': ownTenant, 'crm://*/deals/*': {} }), about(notOwnTenant), 'fails'],
  [uris({ 'crm://{tenant}/**': ownTenant, 'crm://acme/**': {} }), about(notOwnTenant), 'fails'],
  [
    uris({ 'crm://{tenant}/**': ownTenant, 'crm://acme/**': {} }),
    about(notOwnTenant, 'deny', { claims: { tenant: 'acme' } }),
    'holds',
  ],
  [
    uris({ 'f://x/{a}-{b}': { variables: { a: { claim: 'a' } } } }),
    about({ resource: 'f://x/{a}-{b}', variables: { a: { not: { claim: 'a' } } } }),
    'holds',
  ],
  // Order.
  [
    tools({ '/level': { at_most: { claim: 'clearance' } } }),
    denies({ '/level': { above: { claim: 'clearance' } } }),
    'holds',
  ],
  [
    tools({ '/level': { at_most: { claim: 'clearance' } } }),
    denies({ '/level': { not: { at_most: { claim: 'clearance' } } } }),
    'holds',
  ],
  [
    tools({ '/level': { at_most: { claim: 'clearance' } } }),
    allows({ '/level': { below: { claim: 'clearance' } } }),
    'holds',
  ],
  [
    tools({ '/level': { below: { claim: 'clearance' } } }),
    allows({ '/level': { at_most: { claim: 'clearance' } } }),
    'fails',
  ],
  [
    tools({ '/level': { at_most: { claim: 'clearance' } } }),
    denies({ '/level': { above: 5 } }, { claims: { clearance: { at_most: 5 } } }),
    'holds',
  ],
  [
    tools({ '/level': { at_most: { claim: 'clearance' } } }),
    denies({ '/level': { above: 5 } }, { claims: { clearance: { at_most: 6 } } }),
    'fails',
  ],
  [tools({ '/level': { at_most: { claim: 'clearance' } } }), denies({ '/level': { matches: '5' } }), 'holds'],
  [tools({ '/n': { integer: true, equals: { claim: 'n' } } }), denies({ '/n': '7' }, { claims: { n: 7 } }), 'fails'],
  // Membership.
  [
    tools({ '/account': { one_of: { claim: 'accounts' } } }),
    denies({ '/account': { not: { one_of: { claim: 'accounts' } } } }),
    'holds',
  ],
  [tools({ '/account': { one_of: { claim: 'accounts' } } }), denies({}), 'fails'],
  [tools({}), denies({ '/account': { not: { one_of: { claim: 'accounts' } } } }), 'fails'],
  [tools({ '/account': { one_of: { claim: 'accounts' } } }), denies({}, { claims: { accounts: 'a' } }), 'holds'],
  [
    tools({ '/tags': { contains: { claim: 'tag' } } }),
    denies({ '/tags': { not: { contains: { claim: 'tag' } } } }),
    'holds',
  ],
  [tools({ '/tags': { contains: { claim: 'tag' } } }), allows({ '/tags': { contains: { claim: 'tag' } } }), 'holds'],
  [tools({}), denies({ '/tags': { contains: { claim: 'tag' } } }), 'fails'],
  // Paths.
  [
    tools({ '/path': { within: ['/data', { claim: 'tenant' }] } }),
    denies({ '/path': { not: { within: ['/data', { claim: 'tenant' }] } } }),
    'holds',
  ],
  [
    tools({ '/path': { within: '/data' } }),
    denies({ '/path': { not: { within: ['/data', { claim: 'tenant' }] } } }),
    'fails',
  ],
  [
    tools({ '/path': { within: ['/data', { claim: 'tenant' }] } }),
    denies({ '/path': { not: { within: '/data' } } }),
    'holds',
  ],
  [
    tools({ '/path': { within: ['/data', { claim: 'tenant' }] } }),
    denies({}, { claims: { tenant: { matches: '[.][.]' } } }),
    'fails',
  ],
  [tools({ '/path': { within: ['/data', { claim: 'tenant' }] } }), denies({}, { claims: { tenant: '..' } }), 'holds'],
  [tools({ '/path': { within: ['/data', { claim: 'tenant' }] } }), denies({}), 'fails'],
  [tools({ '/path': { within: '/data' } }), denies({ '/path': { matches: '^/data/[.][.]/' } }), 'holds'],
  [tools({ '/path': { within: '/data' } }), allows({ '/path': { matches: '^/data/[a-z]+$' } }), 'holds'],
  [tools({ '/path': { within: '/data' } }), denies({ '/path': { matches: '^/etc' } }), 'holds'],
  // Two claims of one token.
  [
    { claims: { org: { claim: 'tenant' } } },
    { for_all: { claims: { org: 'a', tenant: 'b' } }, when: {}, then: 'deny' },
    'holds',
  ],
  [{ claims: { org: { claim: 'tenant' } } }, { for_all: { claims: { org: 'a' } }, when: {}, then: 'deny' }, 'fails'],
  [
    { not: { claims: { org: { claim: 'tenant' } } } },
    { for_all: { claims: { org: { present: false } } }, when: {}, then: 'allow' },
    'fails',
  ],
  // Approvers.
  [
    { tools: { read: { approval: { by: { claims: { tenant: { caller: 'tenant' } } } } } } },
    {
      for_all: { claims: { tenant: { present: false } }, approval: 'approved' },
      when: { tool: 'read' },
      then: { deny: 'approval.denied' },
    },
    'holds',
  ],
  [
    {
      tools: {
        read: { approval: { by: { any: [{ claims: { tenant: { caller: 'tenant' } } }, { claims: { role: 'x' } }] } } },
      },
    },
    {
      for_all: { claims: { tenant: { present: false } }, approval: 'none' },
      when: { tool: 'read' },
      then: { deny: 'approval.required' },
    },
    'holds',
  ],
  [
    { tools: { read: { approval: { by: {}, when: { arguments: { '/to': { not: { claim: 'account' } } } } } } } },
    {
      for_all: { approval: 'none' },
      when: { tool: 'read', arguments: { '/to': { claim: 'account' } } },
      then: 'allow',
    },
    'holds',
  ],
  [
    { tools: { read: { approval: { by: {}, when: { arguments: { '/to': { not: { claim: 'account' } } } } } } } },
    {
      for_all: { approval: 'none' },
      when: { tool: 'read', arguments: { '/to': { not: { claim: 'account' } } } },
      then: 'deny',
    },
    'holds',
  ],
];

describe('values that are compared with claims', () => {
  test.each(rows)('%j: %j %s', (policy, document, outcome) => {
    expect(prove(compiled(document), policyOf(policy), deciding())).toMatchObject({ outcome });
  });
});

const world = [
  undefined,
  null,
  'a',
  'b',
  '1',
  1,
  2,
  1.5,
  true,
  ['a'],
  ['b', 1],
  [],
  {},
  '/d',
  '/d/a',
  '/d/a/b',
  '/d/..',
  'd',
];
const claims = world.flatMap((c) => [c === undefined ? {} : { c }, c === undefined ? { d: 'a' } : { c, d: 'a' }]);

const claim = fc.constantFrom({ claim: 'c' }, { claim: 'd' });
const compared = fc.oneof(
  claim,
  claim.map((equals) => ({ integer: true, equals })),
  claim.map((one_of) => ({ one_of })),
  claim.map((contains) => ({ contains })),
  claim.map((below) => ({ below })),
  claim.map((at_least) => ({ at_least })),
  claim.map((within) => ({ within: ['/d', within] })),
  claim.map((within) => ({ within })),
);
const constant = fc.constantFrom<ValueDocument>(
  'a',
  1,
  { above: 1 },
  { matches: '^/d' },
  { within: '/d' },
  { present: true },
  ['a', 2],
);
const some = fc.oneof({ arbitrary: compared, weight: 2 }, { arbitrary: constant, weight: 1 });
const value = fc.oneof(
  some,
  some.map((not) => ({ not }) as ValueDocument),
) as fc.Arbitrary<ValueDocument>;
const conditions = fc.record(
  {
    arguments: fc.dictionary(fc.constantFrom('/v', '/w'), value, { minKeys: 1 }),
    claims: fc.dictionary(fc.constantFrom('c', 'd'), value, { minKeys: 1 }),
  },
  { requiredKeys: ['arguments'] },
);

/** An assertion for each example would take most of the time of these properties. */
function refuted(example: object): Error {
  return new Error(`an example refutes the proof: ${JSON.stringify(example)}`);
}

property(
  'no example refutes what is proved of comparisons',
  [conditions, conditions, fc.boolean()],
  (policyConditions, when, isAllowed) => {
    const policy = policyOf({ tools: { read: policyConditions } });
    const then = isAllowed ? 'allow' : 'deny';
    const described = compiled({ for_all: {}, when: { tool: 'read', arguments: when.arguments }, then });
    const proof = prove(described, policy, deciding(), MAX_STEPS);
    if (proof.outcome !== 'holds') return;
    const { callerOf, attemptOf } = deciding();
    const callers = claims.map((given) => ({ given, principal: callerOf({ claims: given }) }));
    for (const v of world) {
      for (const w of ['a', undefined]) {
        const args = { ...(v !== undefined && { v }), ...(w !== undefined && { w }) };
        const attempt = attemptOf({ tool: 'read', arguments: args });
        for (const { given, principal } of callers) {
          if (!isDescribed(described, principal, attempt)) continue;
          if (!isExpected(policy.decide(principal, attempt), described.wanted)) throw refuted({ args, given });
        }
      }
    }
  },
);

const keys = ['GET /u/{v}', 'GET /u/{v}/**', 'GET /u/a', 'GET /u/{v}/x', 'GET /u/*/y', 'GET /**', 'GET /u/{x}/{v}'];
const uriKeys = ['c://{v}/**', 'c://a/**', 'c://{v}/x', 'c://*/x', 'c://b/x', '**', 'c://{x}-{v}/**', 'c://{v}'];
const paths = ['a', 'b', '1', 'a/x', 'b/x', 'a/y', '1/y', 'a/b', 'b/b/c', '%C3%A9', 'a%20b/x'];
const names = { requests: paths.map((path) => `GET /u/${path}`), resources: paths.map((path) => `c://${path}`) };
names.resources.push('c://a-b/x', 'c://b-a-b/y', 'c://%FF/x');

function isSound(document: PolicyDocument): boolean {
  try {
    policyOf(document);
    return true;
  } catch (error) {
    if (error instanceof PolicyError) return false;
    throw error;
  }
}

function entriesOf(all: readonly string[]) {
  return fc.dictionary(fc.constantFrom(...all), fc.option(value, { nil: undefined }), { minKeys: 1, maxKeys: 4 });
}

property(
  'no example refutes what is proved of variables',
  [
    fc.oneof(
      entriesOf(keys).map((entries) => ['requests', entries] as const),
      entriesOf(uriKeys).map((entries) => ['resources', entries] as const),
    ),
    fc.nat(),
    value,
    fc.boolean(),
  ],
  ([list, entries], at, wanted, isAllowed) => {
    const withConditions = Object.entries(entries).map(([key, v]) => {
      return [key, v === undefined || !key.includes('{v}') ? {} : { variables: { v } }] as const;
    });
    const document = { [list]: Object.fromEntries(withConditions) } as PolicyDocument;
    // Two keys of one precision are an error.
    if (!isSound(document)) return;
    const policy = policyOf(document);
    const own = Object.keys(entries).filter((key) => key.includes('{v}'));
    const key = own[at % own.length];
    if (key === undefined) return;
    const kind = list === 'requests' ? 'request' : 'resource';
    const when = { [kind]: key, variables: { v: wanted } };
    const described = compiled({ for_all: {}, when, then: isAllowed ? 'allow' : 'deny' });
    if (prove(described, policy, deciding()).outcome !== 'holds') return;
    const { callerOf, attemptOf } = deciding();
    const callers = claims.map((given) => ({ given, principal: callerOf({ claims: given }) }));
    for (const name of names[list]) {
      const attempt = attemptOf({ [kind]: name });
      for (const { given, principal } of callers) {
        if (!isDescribed(described, principal, attempt)) continue;
        if (!isExpected(policy.decide(principal, attempt), described.wanted)) throw refuted({ name, given });
      }
    }
  },
);

describe('no caller reads below the folder of another tenant', () => {
  const names = Array.from({ length: 30 }, (_, at) => `tool_${at}`);
  const path = { within: ['/data', { claim: 'tenant' }] };
  const thirty = (forgotten?: string): PolicyDocument => ({
    scope: 'read',
    tools: Object.fromEntries(
      names.map((name) => [name, name === forgotten ? {} : { arguments: { '/path': path, '/n': { above: 0 } } }]),
    ),
  });
  const isolation = {
    for_all: {},
    when: { tool: 'any', arguments: { '/path': { not: path } } },
    then: 'deny',
  } as const;

  test('is proved of thirty tools', () => {
    expect(prove(compiled(isolation), policyOf(thirty()), deciding()).outcome).toBe('holds');
  });

  test('is refuted where one entry forgets it', () => {
    expect(prove(compiled(isolation), policyOf(thirty('tool_7')), deciding())).toMatchObject({
      outcome: 'fails',
      counterexample: { when: { tool: 'tool_7' } },
    });
  });
});
