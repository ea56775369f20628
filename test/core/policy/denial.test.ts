import { expect, test } from 'vitest';
import { denialIn } from '../../../src/core/model/policy.ts';
import { compilePolicy } from '../../../src/policy-parts/compile.ts';
import type { PolicyDocument } from '../../../src/core/policy/document.ts';
import { caller } from './caller.ts';
import { decides } from './decides.ts';

/** Tests the details of denials. */
function details(title: string, document: PolicyDocument, lines: string): void {
  decides(title, document, lines, (decision) => (decision.allow ? 'allow' : decision.denial.detail));
}

details(
  'a claim, by its value or its kind',
  { claims: { risk: { integer: true, below: 50 } } },
  `
{"risk":"72"} | http → claim risk: wanted an integer below 50, found "72"
{"risk":"high"} | http → claim risk: wanted an integer, found "high"
http → claim risk: wanted an integer, found nothing
{"risk":[1,2]} | http → claim risk: wanted an integer, found an array of 2`,
);

details(
  'a claim inside another one',
  { claims: { '/a/b': ['x', 'y'] } },
  String.raw`
{"a":{"b":{"secret":1}}} | http → claim /a/b: wanted one of "x", "y", found an object of 1
{"a":"{\"b\":1}"} | http → claim /a/b: wanted one of "x", "y", found a value on the way to it that is not an object`,
);

details(
  'a claim under not',
  { claims: { ai_agent: { not: true } } },
  '{"ai_agent":true} | http → claim ai_agent: wanted not true (or another type), found true',
);

details(
  'the scopes of the policy and of an entry',
  { scope: 'read', tools: { pay: { scope: 'payments write' } } },
  `
read write | call pay → wanted scope "read payments write", missing "payments"
write | call pay → wanted scope "read payments write", missing "read payments"
write | http → wanted scope "read", missing "read"`,
);

details(
  'the way and the time of the sign-in',
  { acr: ['mfa', 'phr'], max_age: '5m' },
  `
{"acr":"pwd"} | http → wanted acr mfa or phr, found "pwd"
{"acr":"mfa","authenticated_ago":301} | http → wanted a sign-in (auth_time) at most 300 s ago, found 301`,
);

const lifetime = 'wanted a lifetime (exp - iat) of at most 60 s';

details(
  'the lifetime',
  { max_lifetime: '1m' },
  `
for 900s | http → ${lifetime}, found 900 s
for null | http → ${lifetime}, found no exp`,
);

details('not', { not: {} }, 'http → wanted its conditions not to hold, found that they all do');

details(
  'each alternative of any',
  { any: [{ scope: 'x', claims: { a: 1 } }, { not: {} }, { any: [{ claims: { b: 2 } }, { max_lifetime: '1m' }] }] },
  `http → none of 3 alternatives holds: claim a: wanted 1, found nothing; wanted its conditions not to hold, found that they \
all do; none of 2 alternatives holds: claim b: wanted 2, found nothing; ${lifetime}, found 900 s`,
);

// The name as some servers read it: of URIs decoded, of others as it stands.
details(
  'what is not listed',
  { tools: {}, resources: { 'x:**': { scope: 'x' } } },
  String.raw`
call "x\ny" → wanted a tool that is listed, found "x\ny": only an exact entry covers a name that some servers read as "xy"
call A%20 → wanted a tool that is listed, found "A%20": only an exact entry covers a name that some servers read as "a%20"
call → wanted a tool that is listed, found nothing
tasks/list → wanted a method that is listed or protocol housekeeping, found "tasks/list": only an exact entry covers it
tasks/find → wanted a method that is listed or protocol housekeeping, found "tasks/find"
get p → wanted a prompt that is listed, found "p"
read a:b → wanted a resource that is listed, found "a:b"
read x:a/../b → wanted a resource that is listed, found "x:a/../b": only an exact entry covers a URI with a dot segment
read y:/a%20/b → wanted a resource that is listed, found "y:/a%20/b": only an exact entry covers a name that some servers read as "y:/a/b"
completion/complete template y:{y} → wanted a resource template that is listed, found "y:{y}"
completion/complete template y:/{y}/b%20 → wanted a resource template that is listed, found "y:/{y}/b%20": only an exact entry covers a name that some servers read as "y:/{y}/b"`,
);

// Arguments are a part of the request's body: their values are not told.
details(
  'an argument, by its kind alone',
  { tools: { t: { arguments: { '/a': 1 } } } },
  `
call t {} → argument /a: wanted 1, found nothing
call t {"a":null} → argument /a: wanted 1, found null
call t {"a":"s3cr3t"} → argument /a: wanted 1, found another string
call t {"a":2} → argument /a: wanted 1, found another number
call t {"a":["s3cr3t"]} → argument /a: wanted 1, found an array
call t {"a":{"b":1}} → argument /a: wanted 1, found an object`,
);

test('has only its own members, without words of the operator and an inner call', () => {
  const decision = compilePolicy('test', { claims: { a: 1 } }).decide(caller(), { kind: 'http' });
  const detail = 'claim a: wanted 1, found nothing';
  expect(denialIn(decision)).toStrictEqual({ reason: 'claim.denied', rule: 'claims.a', detail, scope: [] });
});

test('names the missing iat of a token that has only exp', () => {
  const principal = { ...caller(), issuedAt: undefined };
  const decision = compilePolicy('test', { max_lifetime: '1m' }).decide(principal, { kind: 'http' });
  expect(decision).toMatchObject({ denial: { reason: 'lifetime.exceeded', detail: `${lifetime}, found no iat` } });
});
