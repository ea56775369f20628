import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Outcome } from '../../src/model/outcome.ts';
import { allowedLine, decisionLine } from '../../src/telemetry/decision-line.ts';
import { inputOf, summaryOf } from '../../src/telemetry/decision-summary.ts';
import { caller } from '../policy/caller.ts';
import { mcpMethod } from '../../src/model/mcp.ts';

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
const route = fc.record({
  name: text,
  policy: perhaps(fc.record({ name: text, claimsRead: fc.constant((claims: object) => claims) })),
});
const outcome = fc.record({
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
  allow: fc.constant(true),
  rule: perhaps(text),
  denial: fc.constant(undefined),
  shadow: fc.constant(undefined),
  decidedAt: fc.double({ min: 1, max: 1e6, noNaN: true }),
}) as unknown as fc.Arbitrary<Outcome>;

/** They are made one after the other. */
const withoutTime = (line: string): string => line.replace(/"time":"[^"]*"/, '');

test('the line of an allowed call equals JSON.stringify byte for byte', () => {
  fc.assert(
    fc.property(outcome, (one) => {
      expect(withoutTime(allowedLine(one))).toBe(withoutTime(JSON.stringify(decisionLine(summaryOf(one, 0)))));
    }),
    { numRuns: 500 },
  );
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
  });
  fc.assert(
    fc.property(principal, outcome, fc.array(call, { minLength: 20, maxLength: 60 }), (caller, base, calls) => {
      for (const each of calls) {
        const next = { ...base, ...each, principal: caller } as unknown as Outcome;
        expect(withoutTime(allowedLine(next))).toBe(withoutTime(JSON.stringify(decisionLine(summaryOf(next, 0)))));
      }
    }),
    { numRuns: 50 },
  );
});

test('a caller on two routes has the claims of each policy', () => {
  const caller = { issuer: 'i', grantedScopes: [], claims: { a: 1, b: 2 } };
  const [base] = fc.sample(outcome, 1);
  const asked = (name: string): unknown => {
    const policy = { name, claimsRead: (claims: Record<string, unknown>) => ({ [name]: claims[name] }) };
    const one = { ...base, attempt: undefined, principal: caller, route: { name, policy } };
    return (JSON.parse(allowedLine(one as unknown as Outcome)) as { input: { claims: unknown } }).input.claims;
  };
  expect(['a', 'b', 'a'].map(asked)).toEqual([{ a: 1 }, { b: 2 }, { a: 1 }]);
});

function loggedInput(claims: Readonly<Record<string, unknown>>): ReturnType<typeof inputOf> {
  const policy = { name: 'p', claimsRead: () => claims };
  const call = { id: '', decision: '', method: 'GET', startedAt: 0, trace: undefined };
  const known = { call, route: { policy }, principal: caller({ lifetime: 60 }), allow: true, decidedAt: 1 };
  return inputOf(summaryOf(known as unknown as Outcome, 0));
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
