import { expect, test } from 'vitest';
import { explain } from '../../../../src/analysis/review/explanation.ts';
import type { ConditionDocument } from '../../../../src/core/policy/document.ts';
import { compilePolicy } from '../../../../src/policy-parts/compile.ts';
import { caller, type Given } from '../caller.ts';

test.for<[ConditionDocument, Given, explanation: object]>([
  [{ scope: 'a b' }, {}, { kind: 'scope', wanted: 'scope "a b"', found: 'no scope' }],
  [{ scope: 'a b' }, { scope: 'a c' }, { kind: 'scope', wanted: 'scope "a b"', found: '"a c"' }],
  [{ acr: 'mfa' }, { claims: { acr: 'pwd' } }, { kind: 'claim', reads: 'acr', wanted: 'acr mfa', found: '"pwd"' }],
  [
    { claims: { org: { claim: 'tenant' } } },
    { claims: { org: 'b', tenant: 'a' } },
    { kind: 'claim', reads: 'org', wanted: 'claim org: claim tenant ("a")', found: '"b"' },
  ],
  [
    { max_lifetime: '1m' },
    { lifetime: 90 },
    { kind: 'lifetime', wanted: 'a lifetime (exp - iat) of at most 60 s', found: '90 s' },
  ],
])('%j of a caller with %j explains what it wants and finds', ([document, given, explanation]) => {
  const principal = caller(given);
  const call = { kind: 'http' } as const;
  const [condition] = explain(compilePolicy('test', document).decide(principal, call).plan, principal, call);
  expect(condition).toMatchObject({ outcome: 'fails', ...explanation });
});
