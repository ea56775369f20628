import fc from 'fast-check';
import { expect, test } from 'vitest';
import { members } from '../../../src/core/model/decision.ts';
import type { Outcome } from '../../../src/core/model/outcome.ts';
import { decisionLine } from '../../../src/core/telemetry/decision-record.ts';
import { claimReader } from '../../../src/core/lib/json/pointer.ts';
import { caller } from '../policy/caller.ts';
import { mcpMethod } from '../../../src/core/model/mcp.ts';
import { property } from '../../support/property.ts';

const text = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.constantFrom('"', '\\', '\n', '\u2028', '\ud800', 'x'.repeat(300)),
);
const perhaps = <Value>(value: fc.Arbitrary<Value>): fc.Arbitrary<Value | undefined> =>
  fc.option(value, { nil: undefined });

const target = fc.record({ kind: fc.constantFrom('tool', 'resource', 'prompt'), name: text });
const attempt = fc.oneof(
  fc.constant({ kind: 'http' }),
  fc.record({
    kind: fc.constant('mcp'),
    method: perhaps(text).map(mcpMethod),
    targets: fc.array(target, { maxLength: 2 }),
  }),
);
const principal = fc.record({
  issuer: text,
  subject: perhaps(text),
  clientId: perhaps(text),
  expiresAt: perhaps(fc.constant(2000)),
  issuedAt: perhaps(fc.constant(1000)),
  grantedScopes: fc.array(text, { maxLength: 2 }),
  claims: fc.record({ scope: text, tenant: fc.jsonValue() }, { requiredKeys: [] }),
});
const policy = fc.record({
  name: text,
  revision: text,
  claimsRead: fc.constant((claims: object) => claims),
  innerCalls: fc.array(text, { maxLength: 2 }).map((names) => () => {
    return names.map((name) => ({ kind: 'mcp', method: mcpMethod('tools/call'), targets: [{ kind: 'tool', name }] }));
  }),
});
const route = fc.record({
  name: text,
  policy: perhaps(policy),
});
const reason = fc.constantFrom('scope.insufficient', 'claim.denied', 'token.expired');
const denial = fc.record({ reason, detail: text, scope: fc.array(text, { maxLength: 2 }) });
const answer = fc.record(
  { status: fc.constantFrom(401, 403), challenges: fc.array(text, { maxLength: 2 }), because: text },
  { requiredKeys: ['status', 'challenges'] },
);
/** A call is allowed unless a stage refused it. */
const decided = (one: object): Outcome => {
  const { denial } = one as Outcome;
  return { ...one, allow: denial === undefined } as Outcome;
};
const outcome = fc
  .record({
    call: fc.record({
      id: fc.uuid(),
      decision: fc.uuid(),
      method: text,
      startedAt: fc.constant(1),
      trace: perhaps(fc.record({ traceId: fc.constant('0af7651916cd43dd8448eb211c80319c') })),
    }),
    route: perhaps(route),
    principal: perhaps(principal),
    attempt: perhaps(attempt),
    rule: perhaps(text),
    denial: perhaps(denial),
    shadow: perhaps(denial),
    answer: perhaps(answer),
    decidedAt: fc.double({ min: 1, max: 1e6, noNaN: true }),
  })
  .map(decided);

/** Every member of the table, in its order; JSON.stringify leaves out the undefined ones. */
function entryOf(outcome: Outcome, at: number): object {
  const { at: _, ...others } = members;
  const written = Object.values(others).flatMap((row) => {
    if (!('wire' in row)) return [];
    const value: unknown = (row.of as (outcome: Outcome, at: number) => unknown)(outcome, at);
    return [[row.wire.name, 'write' in row ? row.write(value as never) : value] as const];
  });
  return {
    time: new Date(at).toISOString(),
    level: 'info',
    msg: 'decision',
    ...(Object.fromEntries(written) as Record<string, unknown>),
  };
}

property(
  'a line equals JSON.stringify byte for byte',
  [outcome, fc.nat()],
  (one, at) => {
    expect(decisionLine(one, at)).toBe(JSON.stringify(entryOf(one, at)));
  },
  { numRuns: 500 },
);

test('the members in common stand together in a line', () => {
  const own = Object.values(members)
    .filter((row) => 'wire' in row)
    .map((row) => ('own' in row ? 'own' : 'common'))
    .join(' ');
  expect(own).toMatch(/^(?:own )+(?:common )+(?:own ?)+$/);
});

test('the line is the same if the caller has made this call or others before', () => {
  const [one, other] = fc.sample(route, 2);
  const call = fc.record({
    route: fc.constantFrom(one, other, undefined),
    attempt: fc.record({
      kind: fc.constant('mcp'),
      method: fc.constantFrom('tools/call', 'tools/list', undefined).map(mcpMethod),
      targets: fc.constantFrom([], ...['a', 'b'].map((name) => [{ kind: 'tool', name }]), [
        { kind: 'prompt', name: 'a' },
      ]),
    }),
    rule: fc.constantFrom('a', 'b', undefined),
    denial: fc.constantFrom(...fc.sample(denial, 3), undefined),
    shadow: fc.constantFrom(...fc.sample(denial, 2), undefined),
    answer: fc.constantFrom(...fc.sample(answer, 2), undefined),
  });
  fc.assert(
    fc.property(principal, outcome, fc.array(call, { minLength: 20, maxLength: 60 }), (caller, base, calls) => {
      for (const each of calls) {
        const next = decided({ ...base, ...each, principal: caller });
        expect(decisionLine(next, 0)).toBe(JSON.stringify(entryOf(next, 0)));
      }
    }),
    { numRuns: 50 },
  );
});

test('a caller on two routes has the claims of each policy', () => {
  const caller = { issuer: 'i', grantedScopes: [], claims: { a: 1, b: 2 } };
  const [base] = fc.sample(outcome, 1);
  const asked = (name: string): unknown => {
    const policy = {
      name,
      revision: name,
      claimsRead: (claims: Record<string, unknown>) => ({ [name]: claims[name] }),
      innerCalls: () => [],
    };
    const one = { ...base, attempt: undefined, principal: caller, route: { name, policy } };
    return (JSON.parse(decisionLine(one as unknown as Outcome, 0)) as { input: { claims: unknown } }).input.claims;
  };
  expect(['a', 'b', 'a'].map(asked)).toEqual([{ a: 1 }, { b: 2 }, { a: 1 }]);
});

function loggedInput(claims: Readonly<Record<string, unknown>>): unknown {
  const policy = { name: 'p', revision: 'p', claimsRead: () => claims, innerCalls: () => [] };
  const call = { id: '', decision: '', method: 'GET', startedAt: 0, trace: undefined };
  const known = { call, route: { policy }, principal: caller({ lifetime: 60 }), allow: true, decidedAt: 1 };
  return (JSON.parse(decisionLine(known as unknown as Outcome, 0)) as { input: unknown }).input;
}

test('has the claims that the policy reads, and the lifetime of the token', () => {
  expect(loggedInput({ tenant: 'acme', risk: 3 })).toEqual({ claims: { tenant: 'acme', risk: 3 }, lifetime: 60 });
});

test.each([
  ['too long', 'x'.repeat(600)],
  ['too deep to be written', JSON.parse(`${'['.repeat(20_000)}${']'.repeat(20_000)}`) as unknown],
])('a claim that is %s is named without its value', (_why, value) => {
  expect(loggedInput({ tenant: 'acme', big: value })).toEqual({
    claims: { tenant: 'acme' },
    omitted: ['big'],
    lifetime: 60,
  });
});

/** What a line has of a call. */
function lineOf(call: object, more: object = {}): Record<string, unknown> {
  const own = { id: 'r', decision: 'd', method: 'GET', startedAt: 1, trace: undefined, ...call };
  const made = { call: own, route: { name: 'api', protocol: 'http' }, allow: true, decidedAt: 2, ...more };
  return JSON.parse(decisionLine(made as unknown as Outcome, 0)) as Record<string, unknown>;
}

const all = { paths: true, addresses: true, claims: [] };

test('R-314: a line has the path and the address, unless the log leaves them out', () => {
  const call = { path: '/orders/1', client: '192.0.2.7' };
  expect(lineOf(call)).toMatchObject({ path: '/orders/1', address: '192.0.2.7' });
  expect(lineOf(call, { details: all })).toMatchObject({ path: '/orders/1', address: '192.0.2.7' });
  expect(lineOf(call, { details: { ...all, paths: false } })).not.toHaveProperty('path');
  expect(lineOf(call, { details: { ...all, addresses: false } })).not.toHaveProperty('address');
  expect(lineOf({ path: `/${'x'.repeat(300)}` })['path']).toBe(`/${'x'.repeat(255)}`);
  // On an MCP route, without a route, and where the path itself was refused.
  expect(lineOf(call, { route: { name: 'tools', protocol: 'mcp' } })).not.toHaveProperty('path');
  expect(lineOf(call, { route: undefined })).not.toHaveProperty('path');
  expect(lineOf({ path: '', client: '' })).toEqual(expect.not.objectContaining({ path: '', address: '' }));
});

test('R-316: a line has the listed claims, cut and escaped', () => {
  const read = (name: string) => ({ name, read: claimReader(name) });
  const claims = ['email', '/profile/name', '/profile/tags', 'gone', 'admin', '__proto__'].map(read);
  const principal = {
    ...caller(),
    claims: { email: 'a\n"b"\u001b[31m\u202e', profile: { name: 'x'.repeat(300), tags: ['a', 1] }, admin: true },
  };
  const line = lineOf({}, { principal, details: { ...all, claims } });
  expect(line['claims']).toEqual({
    email: 'a\n"b"\u001b[31m\u202e',
    '/profile/name': 'x'.repeat(256),
    '/profile/tags': '["a",1]',
    admin: true,
  });
  const call = { id: 'r', decision: 'd', method: 'GET', startedAt: 1, trace: undefined };
  const text = decisionLine({ call, principal, allow: true, details: { ...all, claims } } as unknown as Outcome, 0);
  expect(text).not.toMatch(/\p{Cc}/u);
  // Another configuration lists others.
  expect(lineOf({}, { principal, details: { ...all, claims: [read('admin')] } })['claims']).toEqual({ admin: true });
  expect(lineOf({}, { principal, details: all })).not.toHaveProperty('claims');
});
