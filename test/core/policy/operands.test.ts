import { approvalsKey } from '../../../src/policy-parts/approvals/key.ts';
import { describe, expect, test } from 'vitest';
import { describeValue } from '../../../src/core/lib/json/describe-value.ts';
import { parseExactly } from '../../../src/core/lib/json/lossless.ts';
import { unreachable } from '../../../src/core/lib/json/pointer.ts';
import type { Caller } from '../../../src/core/policy/claim.ts';
import type { PolicyDocument, PolicyFault, ValueDocument } from '../../../src/core/policy/document.ts';
import { compilePredicates, operandsIn, type Reading, wantedBy } from '../../../src/core/policy/predicate.ts';
import { call, caller, decide, faultsOf, message, told } from './caller.ts';
import { compilePolicy } from '../../../src/policy-parts/compile.ts';
import { explain } from '../../../src/analysis/review/explanation.ts';

/** A caller with one claim, `c`, as a token writes it; `''`: the token lacks it. */
function withClaim(json: string): Caller {
  const text = json === '' ? '{}' : `{"c":${json}}`;
  return { claims: JSON.parse(text) as Caller['claims'], exactClaims: parseExactly(text) as Caller['claims'] };
}

/** What a message has at `/v`, plain and with the digits of its numbers; `''`: there is nothing. */
function valueOf(json: string): { readonly value: unknown; readonly exact: unknown } {
  const text = json === '' ? '{}' : `{"v":${json}}`;
  const { v: value } = JSON.parse(text) as { v?: unknown };
  return { value, exact: (parseExactly(text) as { v?: unknown } | undefined)?.v ?? value };
}

/** Whether predicates hold for a value, as a message writes it; `''`: there is none. */
function holds(document: ValueDocument, json: string, claim: string, reading: Reading = 'direct'): boolean {
  const { value, exact } = valueOf(json);
  const predicates = compilePredicates(document, [], [], reading);
  return predicates.every(({ test: isMet }) => isMet(value, withClaim(claim), exact));
}

/** For a claim: the values for which the predicate holds, for which only its `not` does, and for which neither. */
type Row = readonly [document: object, claim: string, yes: string, no: string, neither: string];

/** Stands for no value. */
const absent = '∅';

const rows: readonly Row[] = [
  // Equality, of one type and exactly.
  [
    { equals: { claim: 'c' } },
    '"acme"',
    '"acme" "\\u0061cme"',
    '"ACME" "acme " "" "globex"',
    'null 1 true ["acme"] {"a":"acme"}',
  ],
  [{ claim: 'c' }, '"acme"', '"acme"', '"Acme"', '["acme"]'],
  [{ claim: '/c/d' }, '{"d":"acme"}', '"acme"', '"x"', '1'],
  [{ claim: 'c' }, '"é"', '"é"', '"e\\u0301"', '1'],
  [{ claim: 'c' }, '1', '1 1.0 10e-1', '2 1.00000000000000000001', '"1" true 1e400 null'],
  [{ claim: 'c' }, '0', '0 -0 0.0 0e5', '1', '1e-400 "0" false'],
  [{ claim: 'c' }, '1e22', '10000000000000000000000 1E22 1e+22', '10000000000000000000001', '1e400'],
  [{ claim: 'c' }, '9007199254740992', '9007199254740992', '9007199254740993 9007199254740991', '"9007199254740992"'],
  [{ claim: 'c' }, '9007199254740993', '9007199254740993 9007199254740993.0', '9007199254740992', 'true'],
  [{ claim: 'c' }, '0.1', '0.1 1e-1 0.10', '0.1000000000000000000001 0.2', '"0.1"'],
  [{ claim: 'c' }, 'true', 'true', 'false', '1 "true"'],
  // What a claim lacks to be compared: the predicate fails, and its `not`.
  ...['', 'null', '["acme"]', '{"a":1}', '1e400', '1e-400', '{"d":{}}'].map((claim): Row => [
    { claim: 'c' },
    claim,
    '',
    '',
    `"acme" 1 true null ["acme"] ${absent}`,
  ]),
  [{ claim: 'c' }, '"acme"', '', absent, ''],
  [{ integer: true, equals: { claim: 'c' } }, '"7"', '7 "7" "07" 7.0', '8 "-7"', '7.5 "7.0" "x" true'],
  [{ integer: true, equals: { claim: 'c' } }, '7', '"7"', '"8"', '"9007199254740993"'],
  [{ integer: true, equals: { claim: 'c' } }, '7.5', '', '', '7 7.5 "7"'],
  [{ integer: true, equals: { claim: 'c' } }, '"x"', '', '', '7 "x"'],
  [{ integer: true, equals: { claim: 'c' } }, 'true', '', '', '1 true'],
  [
    { integer: true, equals: { claim: 'c' } },
    '9007199254740993',
    '',
    '',
    '9007199254740993 9007199254740992 "9007199254740993"',
  ],
  // Membership.
  [{ one_of: { claim: 'c' } }, '["a","b"]', '"a" "b"', '"A" "ab" ""', '1 true null ["a"]'],
  [{ one_of: { claim: 'c' } }, '["a",1]', '"a" 1', '"1" 2', 'true'],
  [{ one_of: { claim: 'c' } }, '[9007199254740993]', '9007199254740993', '9007199254740992', '"9007199254740993"'],
  ...['[]', '["a",null]', '["a",["b"]]', '["a",{}]', '"a"', '{"0":"a"}', 'null', '', '["a",1e400]'].map(
    (claim): Row => [{ one_of: { claim: 'c' } }, claim, '', '', `"a" 1 ${absent}`],
  ),
  [{ integer: true, one_of: { claim: 'c' } }, '["7",8,"x"]', '7 "8"', '9', '"x" 7.5'],
  [{ integer: true, one_of: { claim: 'c' } }, '[7,7.5]', '', '', '7 "7"'],
  [{ integer: true, one_of: { claim: 'c' } }, '["x",true]', '', '', `7 "x" true ${absent}`],
  // Lists that contain it.
  [{ contains: { claim: 'c' } }, '"a"', '["a"] ["b","a"]', '[] ["b"]', '"a" {"a":"a"} null [["a"]] ["b",1]'],
  [{ contains: { claim: 'c' } }, '9007199254740993', '[9007199254740993]', '[9007199254740992]', '9007199254740993'],
  ...['["a"]', '{}', 'null', ''].map((claim): Row => [
    { contains: { claim: 'c' } },
    claim,
    '',
    '',
    `["a"] [["a"]] [] ${absent}`,
  ]),
  // Order.
  [{ below: { claim: 'c' } }, '5', '4 4.999999999999999999999 -1e300', '5 6 1e300', '"4" null true 1e400'],
  [{ at_most: { claim: 'c' } }, '5', '5 4', '5.000000000000000000001', '"5" [5]'],
  [{ above: { claim: 'c' } }, '5', '6 5.000000000000000000001', '5', '"6"'],
  [{ at_least: { claim: 'c' } }, '5', '5 6', '4.999999999999999999999', '"5"'],
  [{ at_most: { claim: 'c' } }, '9007199254740992', '9007199254740992', '9007199254740993', ''],
  [{ at_most: { claim: 'c' } }, '-9007199254740993', '-9007199254740993 -9007199254740994', '-9007199254740992', ''],
  ...['"5"', 'null', '[5]', '', '1e400', 'true'].map((claim): Row => [
    { at_most: { claim: 'c' } },
    claim,
    '',
    '',
    `1 "1" ${absent}`,
  ]),
  [{ integer: true, at_most: { claim: 'c' } }, '"5"', '5 "4"', '6', '4.5 "x"'],
  [{ integer: true, at_most: { claim: 'c' } }, '4.5', '', '', '4'],
  // Paths.
  [
    { within: '/data' },
    '',
    '"/data" "/data/" "/data/a/b" "/data/.a" "/data/a..b" "/data/…"',
    `"data" "/datax" "/" "/x/data" "/Data" ${absent}`,
    '1 null ["/data"] ""',
  ],
  [{ within: '/data/' }, '', '"/data" "/data/x"', '"/dat"', '"/data//x" "//data" "/data/x//"'],
  [{ within: '/' }, '', '"/" "/x"', '"x"', '""'],
  [{ within: 'data' }, '', '"data" "data/x"', '"/data" "datax"', '"./data"'],
  [
    { within: '/data' },
    '',
    '"/data/%41"',
    '"/x"',
    '"/data/.." "/data/../x" "/data/." "/data/./x" "/data\\\\x" "/data/%2e%2e/x" "/data/%2E" "/data/a%2fb" "/data/%5c" "/data/%252e" "/data/\\u0000" "/data/\\u001f" "/data/\\u0085" "/data/\\u007f"',
  ],
  [
    { within: ['/data', { claim: 'c' }] },
    '"acme"',
    '"/data/acme" "/data/acme/" "/data/acme/x"',
    `"/data" "/data/acmex" "/data/globex" "/data/ACME/x" "data/acme" ${absent}`,
    '"/data/acme/../globex" 1',
  ],
  [
    { within: ['/data', { claim: 'c' }, 'files'] },
    '"acme"',
    '"/data/acme/files/x"',
    '"/data/acme/x" "/data/x/files"',
    '1',
  ],
  [{ within: [{ claim: 'c' }, 'x'] }, '"acme"', '"acme/x"', '"/acme/x"', '1'],
  [{ within: ['/', { claim: 'c' }] }, '"acme"', '"/acme" "/acme/x"', '"/x"', '"acme//"'],
  ...[
    '""',
    '"a/b"',
    '"/a"',
    '"a/"',
    '"."',
    '".."',
    '"%2e"',
    '"a\\\\b"',
    '"\\u0000"',
    '["acme"]',
    '1',
    'null',
    '',
    '"a%2fb"',
  ].map((claim): Row => [
    { within: ['/data', { claim: 'c' }] },
    claim,
    '',
    '',
    `"/data" "/data/a/b" "/data/" "/data/acme" ${absent}`,
  ]),
  [{ within: { claim: 'c' } }, '"/homes/alice"', '"/homes/alice" "/homes/alice/x"', '"/homes/alicex" "/homes"', '""'],
  [{ within: { claim: 'c' } }, '"/homes/alice/"', '"/homes/alice"', '"/homes"', '1'],
  [{ within: { claim: 'c' } }, '"homes"', '"homes/x"', '"/homes"', '1'],
  ...['"/"', '""', '"//"', '"/a/../b"', '"/a//b"', '["/a"]', 'null', ''].map((claim): Row => [
    { within: { claim: 'c' } },
    claim,
    '',
    '',
    `"/" "/a" "/a/b" ${absent}`,
  ]),
];

/** Values as JSON, separated by spaces; none of them has one but within quotes. */
function valuesIn(text: string): readonly string[] {
  return [...text.matchAll(/"(?:[^"\\]|\\.)*"|\[[^ ]*\]|\{[^ ]*\}|[^ ]+/g)].map(([value]) =>
    value === absent ? '' : value,
  );
}

const cases = rows.flatMap(([document, claim, ...lists]) =>
  (
    [
      [true, false],
      [false, true],
      [false, false],
    ] as const
  ).flatMap(([isMet, isNotMet], at) =>
    valuesIn(lists[at] ?? '').map((value) => [document, claim, value, isMet, isNotMet] as const),
  ),
);

describe('a value compared with a claim', () => {
  test.each(cases)('%j, claim %s, value %s: %s, under not %s', (document, claim, value, isMet, isNotMet) => {
    const { integer, ...rest } = document as { readonly integer?: true };
    const under = { not: rest, ...(integer && { integer }) } as ValueDocument;
    expect([holds(document as ValueDocument, value, claim), holds(under, value, claim)]).toEqual([isMet, isNotMet]);
  });

  test.each(cases)(
    'literally, as in properties, not is the exact complement: %j, claim %s, value %s',
    (document, claim, value, isMet) => {
      expect(holds(document as ValueDocument, value, claim, 'literal')).toBe(isMet);
      expect(holds({ not: document }, value, claim, 'literal')).toBe(!isMet);
    },
  );

  test('its operand says the same of each value and the values of its claims', () => {
    for (const [document, claim, json] of cases) {
      const { value, exact } = valueOf(json);
      for (const { operand, test: isMetBy } of compilePredicates(document, [], [])) {
        if (operand.kind !== 'claims') continue;
        const values = operand.claims.map(({ valueFor }) => valueFor(withClaim(claim)));
        const isHeld = operand.holds(exact, values);
        expect([document, claim, json, isHeld]).toEqual([
          document,
          claim,
          json,
          isMetBy(value, withClaim(claim), exact),
        ]);
      }
    }
  });

  test('its operand can use a value of a claim only if it compares some value with it', () => {
    for (const [document, claim, yes, no] of rows) {
      const { operand } = compilePredicates(document, [], []).at(-1) ?? {};
      if (operand?.kind !== 'claims' || operand.claims.length === 0) continue;
      const [value] = operand.claims.map(({ valueFor }) => valueFor(withClaim(claim)));
      expect([document, claim, operand.isUsable(value)]).toEqual([document, claim, yes + no !== '']);
    }
  });

  test('an element is compared as it is, whatever integers the list is beside', () => {
    const operand = compilePredicates({ integer: true, contains: { claim: 'c' } }, [], [])[1]?.operand;
    if (operand?.kind !== 'claims') throw new TypeError('no claims');
    expect(['a', '7', 7, 7.5, true, ['a']].map(operand.isUsable)).toEqual([true, true, true, true, true, false]);
  });

  test('a value that the gateway cannot reach, and a claim that the token leaves elsewhere, fail both ways', () => {
    const [equal, other] = [{ claim: 'c' }, { not: { claim: 'c' } }].map((each) => compilePredicates(each, [], [])[0]);
    expect([equal, other].map((each) => each?.test(unreachable, withClaim('"a"')))).toEqual([false, false]);
    const elsewhere = { claims: { c: 'a', _claim_names: { c: 'src1' } } };
    expect([equal, other].map((each) => each?.test('a', elsewhere))).toEqual([false, false]);
  });

  test.each([{ claim: 'c' }, { within: { claim: 'c' } }])('without a caller every claim is absent: %j', (document) => {
    for (const each of [document, { not: document }]) {
      expect(compilePredicates(each, [], [])[0]?.test('x')).toBe(false);
    }
  });

  test.each<[ValueDocument, string, boolean]>([
    [{ claim: 'c' }, '', true],
    [{ claim: 'c' }, '1', true],
    [{ claim: 'c' }, '"b"', false],
    [{ not: { claim: 'c' } }, '', true],
    [{ not: { not: { claim: 'c' } } }, '', true],
    [{ not: { not: { claim: 'c' } } }, '"b"', false],
    [{ within: '/data' }, '', true],
    [{ within: '/data' }, '1', true],
    [{ within: '/data' }, '"/x"', false],
    [{ not: { within: '/data' } }, '', true],
    [{ not: { within: '/data' } }, '1', true],
    [{ not: { within: '/data' } }, '"/data/x"', false],
  ])('cautiously, only a value of the right type fails: %j, claim "a", value %s: %s', (document, value, expected) => {
    expect(holds(document, value, '"a"', 'cautious')).toBe(expected);
  });
});

/** For a predicate: its words, and those with a claim that is "acme". */
const words: readonly (readonly [ValueDocument, string, string])[] = [
  [{ claim: 'c' }, 'claim c', 'claim c ("acme")'],
  [{ one_of: { claim: 'c' } }, 'one of claim c', 'one of claim c ("acme")'],
  [{ contains: { claim: 'c' } }, 'an array that contains claim c', 'an array that contains claim c ("acme")'],
  [{ at_most: { claim: 'c' } }, 'a number of at most claim c', 'a number of at most claim c ("acme")'],
  [{ integer: true, below: { claim: 'c' } }, 'an integer below claim c', 'an integer below claim c ("acme")'],
  [{ integer: true, equals: { claim: 'c' } }, 'an integer and claim c', 'an integer and claim c ("acme")'],
  [
    { within: ['/data', { claim: 'c' }, 'files'] },
    'a path within /data/{claim c}/files',
    'a path within /data/{claim c ("acme")}/files',
  ],
  [{ within: { claim: 'c' } }, 'a path within {claim c}', 'a path within {claim c ("acme")}'],
  [{ within: '/data/' }, 'a path within /data', 'a path within /data'],
  [{ within: '/' }, 'a path within /', 'a path within /'],
  [{ not: { claim: 'c' } }, 'not claim c (or another type)', 'not claim c ("acme") (or another type)'],
  [
    { not: { within: ['/x', { claim: 'c' }] } },
    'not a path within /x/{claim c} (or another type)',
    'not a path within /x/{claim c ("acme")} (or another type)',
  ],
  [
    { not: { equals: { claim: 'c' }, above: 1 } },
    'not claim c (or another type) and a number above 1 (or another type)',
    'not claim c ("acme") (or another type) and a number above 1 (or another type)',
  ],
  [{ not: { not: { claim: 'c' } } }, 'not not claim c', 'not not claim c ("acme")'],
];

describe('words', () => {
  test.each(words)('%j', (document, named, shown) => {
    const predicates = compilePredicates(document, [], []);
    expect(wantedBy(predicates)).toBe(named);
    expect(wantedBy(predicates, { caller: withClaim('"acme"'), show: describeValue })).toBe(shown);
    expect(wantedBy(predicates, { caller: withClaim('"acme"'), show: () => '' })).toBe(named);
  });

  test('the claims that predicates compare with, and no constants beside them', () => {
    const document = { within: ['/data', { claim: 'c' }, 'files'], not: { not: { claim: 'd' } }, below: 5 } as const;
    expect(operandsIn(compilePredicates(document, [], [])).map(({ name }) => name)).toEqual(['c', 'd']);
  });
});

describe('faults', () => {
  test('a prefix of segments has none', () => {
    expect(faultsOf({ claims: { home: { within: ['/data', { claim: 'tenant' }, 'files'] } } })).toEqual([]);
  });

  test('the fault of a claim has the path of the operand', () => {
    expect(faultsOf({ claims: { org: { claim: '/a~2' } } })).toEqual([
      expect.stringMatching(/^claims\.org\.claim: "\/a~2" is not a JSON Pointer/),
    ]);
  });

  test.each<[ValueDocument, string, (string | number)[]]>([
    [{ within: '/a/../b' }, 'is no path that every server reads alike', ['within']],
    [{ within: '/a%2Fb' }, 'is no path that every server reads alike', ['within']],
    [{ within: '' }, 'is no path that every server reads alike', ['within']],
    [{ within: ['/a', '/b'] }, 'begins with /, which already stands between parts', ['within', 1]],
    [{ within: ['/a', 'b//c'] }, 'is no path that every server reads alike', ['within', 1]],
    [{ within: ['/a', { claim: '/a~2' }] }, 'is not a JSON Pointer', ['within', 1, 'claim']],
    [{ claim: '/a~2' }, 'is not a JSON Pointer', ['claim']],
    [{ caller: 'tenant' }, 'caller is for by of an approval', []],
  ])('%j', (document, expected, at) => {
    const path = ['tools', 'x', 'arguments', '/a'];
    const faults: PolicyFault[] = [];
    compilePredicates(document, path, faults);
    expect(faults).toEqual([{ path: [...path, ...at], message: expect.stringContaining(expected) }]);
  });
});

const own: PolicyDocument = {
  tools: {
    read: { scope: 'read', arguments: { '/tenant': { claim: 'tenant' } } },
    move: { claims: { org: { claim: 'tenant' } } },
    any_of: { any: [{ claims: { org: { claim: 'tenant' } } }, { claims: { role: 'admin' } }] },
    outside: { not: { claims: { org: { claim: 'tenant' } } } },
  },
};

describe('in a policy', () => {
  test.each<[string, unknown, Record<string, unknown>, string]>([
    ['read', { tenant: 'acme' }, { tenant: 'acme' }, 'allow tools.read'],
    ['read', { tenant: 'acme' }, { tenant: 'globex' }, 'deny argument.denied tools.read.arguments./tenant'],
    ['read', {}, {}, 'deny argument.denied tools.read.arguments./tenant'],
    ['read', { tenant: null }, { tenant: null }, 'deny argument.denied tools.read.arguments./tenant'],
    ['move', {}, { org: 'a', tenant: 'a' }, 'allow tools.move'],
    ['move', {}, {}, 'deny claim.denied tools.move.claims.org'],
    ['any_of', {}, { role: 'admin' }, 'allow tools.any_of'],
    ['any_of', {}, { org: 'a', tenant: 'a' }, 'allow tools.any_of'],
    ['any_of', {}, {}, 'deny alternatives.exhausted tools.any_of.any'],
    ['outside', {}, { org: 'a', tenant: 'b' }, 'allow tools.outside'],
    ['outside', {}, { org: 'a', tenant: 'a' }, 'deny exclusion.matched tools.outside.not'],
    ['outside', {}, { org: 'a' }, 'deny exclusion.matched tools.outside.not'],
  ])('%s %j of %j: %s', (tool, args, claims, expected) => {
    expect(told(decide(own, { scope: 'read', claims }, call(tool, args)))).toBe(expected);
  });

  test('the refusal names the claim, and never shows the argument or the claim', () => {
    const decision = decide(own, { scope: 'read', claims: { tenant: 'acme' } }, call('read', { tenant: 'globex' }));
    expect(decision).toMatchObject({
      denial: { detail: 'argument /tenant: wanted claim tenant, found another string' },
    });
  });

  test('the refusal says of a claim why it cannot be compared', () => {
    const decision = decide(own, { scope: 'read' }, call('read', { tenant: 'globex' }));
    expect(decision).toMatchObject({
      denial: { detail: 'argument /tenant: wanted claim tenant (nothing), found another string' },
    });
  });

  test('explain shows both sides', () => {
    const principal = caller({ scope: 'read', claims: { tenant: 'acme' } });
    const attempt = call('read', { tenant: 'globex' });
    const [entry] = explain(compilePolicy('test', own).decide(principal, attempt).plan, principal, attempt);
    expect(entry?.parts.at(-1)).toMatchObject({ wanted: 'argument /tenant: claim tenant ("acme")', found: '"globex"' });
  });

  test('the record of a decision has the claims that operands read', () => {
    const compiled = compilePolicy('test', {
      tools: {
        read: { arguments: { '/a': { not: { claim: '/a/b' } }, '/t': { at_most: { claim: 'authenticated_ago' } } } },
      },
      resources: { 'x://{t}': { variables: { t: { claim: 't' } } } },
    });
    expect(compiled.claimsRead({ a: { b: 1 }, t: 'x', auth_time: 5, other: 1 })).toEqual({
      '/a/b': 1,
      t: 'x',
      auth_time: 5,
    });
    expect(compiled.readsGatewayClaims).toBe(true);
  });

  test.for<PolicyDocument>([
    { claims: { org: { claim: 'tenant' } } },
    { actors: { current: { claim: 'tenant' } } },
    { tools: { pay: { approval: { by: {}, when: { arguments: { '/to': { claim: 'tenant' } } } } } } },
  ])('the record has the claim of an operand of any condition: %j', (document) => {
    expect(compilePolicy('test', document).claimsRead({ tenant: 'acme', other: 1 })).toEqual({ tenant: 'acme' });
  });

  test.for<PolicyDocument>([
    { claims: { authenticated_ago: { at_most: { claim: 'limit' } } } },
    { claims: { limit: { at_least: { claim: 'authenticated_ago' } } } },
  ])('a claim that the gateway adds is compared although the token with exact digits lacks it: %j', (document) => {
    const exactClaims = parseExactly('{"limit":300.00000000000000000001}') as Record<string, unknown>;
    const principal = { ...caller({ claims: { limit: 300, authenticated_ago: 5 } }), exactClaims };
    expect(told(compilePolicy('test', document).decide(principal, { kind: 'http' }))).toBe('allow policy');
  });

  test('what the token itself says there counts for nothing, however exactly', () => {
    const exactClaims = parseExactly('{"authenticated_ago":0,"limit":300.00000000000000000001}');
    const principal = {
      ...caller({ claims: { limit: 300, authenticated_ago: 900 } }),
      exactClaims: exactClaims as Record<string, unknown>,
    };
    const document = { claims: { authenticated_ago: { at_most: { claim: 'limit' } } } };
    expect(told(compilePolicy('test', document).decide(principal, { kind: 'http' }))).toContain('deny claim.denied');
  });

  test('numbers beyond 2^53 differ by their digits, on both sides', () => {
    const policy = compilePolicy('test', { tools: { read: { arguments: { '/id': { claim: 'id' } } } } });
    const digits = (id: string): unknown => parseExactly(`{"id":${id}}`);
    const told2 = (argument: string, claim: string): string => {
      const claims = JSON.parse(`{"id":${claim}}`) as Record<string, unknown>;
      const principal = { ...caller({ claims }), exactClaims: digits(claim) as Record<string, unknown> };
      const attempt = { ...call('read', JSON.parse(`{"id":${argument}}`)), exactArguments: () => digits(argument) };
      return told(policy.decide(principal, attempt));
    };
    expect(told2('9007199254740993', '9007199254740993')).toBe('allow tools.read');
    expect(told2('9007199254740993', '9007199254740992')).toBe('deny argument.denied tools.read.arguments./id');
  });
});

describe('an approver compared with the caller', () => {
  const policy = (by: object): PolicyDocument => ({ tools: { pay: { approval: { by } } } });
  const needed = (by: object, claims: Record<string, unknown>) => {
    const principal = caller({ claims });
    const attempt = call('pay', {});
    const approval = approvalsKey
      .inPlan(compilePolicy('test', policy(by)).decide(principal, attempt).plan)
      ?.needed(principal, attempt);
    if (approval === undefined) throw new TypeError('no approval is needed');
    return approval;
  };
  const ofTenant = { claims: { role: 'supervisor', tenant: { caller: 'tenant' } } };

  test('the claim of the caller is sealed, and the approver must have the same', () => {
    const { asker, admits } = needed(ofTenant, { tenant: 'acme', other: 1 });
    expect(asker).toBe('{"tenant":"acme"}');
    const person = (tenant: unknown) => caller({ claims: { role: 'supervisor', tenant } });
    expect(['acme', 'globex', ['acme'], null].map((tenant) => admits(person(tenant), asker))).toEqual([
      true,
      false,
      false,
      false,
    ]);
  });

  test('without the sealed claim no person may approve', () => {
    const { admits } = needed(ofTenant, { tenant: 'acme' });
    const person = caller({ claims: { role: 'supervisor', tenant: 'acme' } });
    expect([undefined, '{}', '{"tenant":null}'].map((asker) => admits(person, asker))).toEqual([false, false, false]);
  });

  test('claim is a claim of the approver', () => {
    const { admits, asker } = needed({ claims: { org: { claim: 'tenant' } } }, { tenant: 'acme', org: 'acme' });
    expect(admits(caller({ claims: { org: 'x', tenant: 'x' } }), asker)).toBe(true);
    expect(admits(caller({ claims: { org: 'acme' } }), asker)).toBe(false);
  });

  test('numbers keep their digits in the seal', () => {
    const principal = {
      ...caller(),
      claims: { n: 2 ** 53 },
      exactClaims: parseExactly('{"n":9007199254740993}') as object as Record<string, unknown>,
    };
    const attempt = call('pay', {});
    const compiled = compilePolicy('test', policy({ claims: { n: { caller: 'n' } } }));
    const approval = approvalsKey.inPlan(compiled.decide(principal, attempt).plan)?.needed(principal, attempt);
    expect(approval?.asker).toBe('{"n":9007199254740993}');
    expect(approval?.admits(caller({ claims: { n: 2 ** 53 } }), approval.asker)).toBe(false);
    expect(approval?.admits(principal, approval.asker)).toBe(true);
  });

  test.each<[object, Record<string, unknown>, 'approval.required' | 'approval.denied']>([
    [ofTenant, { tenant: 'acme' }, 'approval.required'],
    [ofTenant, {}, 'approval.denied'],
    [ofTenant, { tenant: ['acme'] }, 'approval.denied'],
    [{ claims: { tenant: { not: { caller: 'tenant' } } } }, {}, 'approval.denied'],
    [{ not: { claims: { tenant: { caller: 'tenant' } } } }, {}, 'approval.denied'],
    [{ any: [ofTenant, { claims: { role: 'ceo' } }] }, {}, 'approval.required'],
    [{ any: [ofTenant, { claims: { team: { caller: 'team' } } }] }, { team: 'a' }, 'approval.required'],
    [{ any: [ofTenant, { claims: { team: { caller: 'team' } } }] }, {}, 'approval.denied'],
    [{ all: [ofTenant, { claims: { role: 'ceo' } }] }, {}, 'approval.denied'],
    [{ not: { not: { claims: { tenant: { caller: 'tenant' } } } } }, {}, 'approval.denied'],
    [{ claims: { home: { within: ['/x', { caller: 'tenant' }] } } }, { tenant: 'a/b' }, 'approval.denied'],
    [{ claims: { groups: { one_of: { caller: 'groups' } } } }, { groups: [] }, 'approval.denied'],
    [{ claims: { groups: { one_of: { caller: 'groups' } } } }, { groups: ['x'] }, 'approval.required'],
    [{ claims: { desk: { integer: true, one_of: { caller: 'desks' } } } }, { desks: ['x'] }, 'approval.denied'],
    [{ claims: { desk: { integer: true, one_of: { caller: 'desks' } } } }, { desks: ['x', '7'] }, 'approval.required'],
  ])('by %j for a caller with %j: %s', (by, claims, reason) => {
    expect(needed(by, claims).denial.reason).toBe(reason);
  });

  test('the record of the decision has the claim of the caller', () => {
    expect(compilePolicy('test', policy(ofTenant)).claimsRead({ tenant: 'acme', role: 'x' })).toEqual({
      tenant: 'acme',
    });
  });

  test('caller stands only there', () => {
    expect(faultsOf({ claims: { org: { caller: 'tenant' } } })).toHaveLength(1);
    expect(faultsOf({ tools: { pay: { claims: { by: { caller: 'tenant' } } } } })).toHaveLength(1);
    expect(
      faultsOf({ tools: { pay: { approval: { when: { arguments: { '/a': { caller: 'b' } } }, by: {} } } } }),
    ).toHaveLength(1);
  });
});

describe('when of an approval', () => {
  const document = (when: object): PolicyDocument => ({ tools: { pay: { approval: { by: {}, when } } } });
  test.each<[object, unknown, Record<string, unknown>, boolean]>([
    [{ arguments: { '/to': { not: { claim: 'account' } } } }, { to: 'a' }, { account: 'a' }, false],
    [{ arguments: { '/to': { not: { claim: 'account' } } } }, { to: 'b' }, { account: 'a' }, true],
    [{ arguments: { '/to': { not: { claim: 'account' } } } }, { to: 'a' }, {}, true],
    [{ arguments: { '/to': { not: { claim: 'account' } } } }, { to: ['a'] }, { account: 'a' }, true],
    [{ arguments: { '/to': { claim: 'account' } } }, { to: 'b' }, {}, true],
    [{ arguments: { '/amount': { above: { claim: 'limit' } } } }, { amount: 5 }, { limit: 5 }, false],
    [{ arguments: { '/amount': { above: { claim: 'limit' } } } }, { amount: 5 }, { limit: '9' }, true],
    [{ claims: { org: { not: { claim: 'tenant' } } } }, {}, { org: 'a', tenant: 'a' }, false],
    [{ claims: { org: { not: { claim: 'tenant' } } } }, {}, { org: 'a' }, true],
  ])('%j of %j by %j requires one: %s', (when, args, claims, expected) => {
    const attempt = call('pay', args);
    const principal = caller({ claims });
    const { plan } = compilePolicy('test', document(when)).decide(principal, attempt);
    expect(approvalsKey.inPlan(plan)?.needed(principal, attempt) !== undefined).toBe(expected);
  });
});

describe('variables of requests', () => {
  const policy: PolicyDocument = {
    requests: {
      'GET /users/{id}/**': { variables: { id: { claim: 'sub' } } },
      'POST /tenants/{tenant}/orders/{order}': {
        scope: 'orders.write',
        variables: { tenant: { claim: 'tenant' }, order: { matches: '^[0-9]+$' } },
      },
      'GET /open/{any}': {},
      'GET /users/me': {},
    },
  };
  const claims = { sub: 'u 1', tenant: 'acme' };
  const denied = 'deny variable.denied requests["GET /users/{id}/**"].variables.id';
  test.each([
    ['GET /users/u%201', 'allow requests["GET /users/{id}/**"]'],
    ['HEAD /users/u%201/orders/5', 'allow requests["GET /users/{id}/**"]'],
    ['GET /users/u1', denied],
    ['GET /users/U%201', denied],
    ['GET /users/u%201x/a', denied],
    ['GET /users/u+1', denied],
    ['GET /users/u%25201', denied],
    ['GET /users/u%FF1', denied],
    ['GET /users/u%201%2F', denied],
    ['GET /users/u%201%00', denied],
    ['GET /users/me', 'allow requests["GET /users/me"]'],
    ['POST /tenants/acme/orders/17', 'allow requests["POST /tenants/{tenant}/orders/{order}"]'],
    [
      'POST /tenants/acme/orders/x',
      'deny variable.denied requests["POST /tenants/{tenant}/orders/{order}"].variables.order',
    ],
    [
      'POST /tenants/globex/orders/17',
      'deny variable.denied requests["POST /tenants/{tenant}/orders/{order}"].variables.tenant',
    ],
    ['GET /open/x', 'allow requests["GET /open/{any}"]'],
    ['GET /open/', 'deny request.unlisted requests'],
  ])('%s: %s', (request, expected) => {
    expect(told(decide(policy, { scope: 'orders.write', claims }, { kind: 'http', request }))).toBe(expected);
  });

  test('the refusal has no challenge, also where a scope is missing, and does not show the variable', () => {
    const decision = decide(policy, { claims }, { kind: 'http', request: 'POST /tenants/globex/orders/17' });
    expect(decision).toMatchObject({
      denial: {
        scope: [],
        reason: 'variable.denied',
        detail: 'variable tenant: wanted claim tenant, found another text',
      },
    });
  });

  test('explain shows both sides', () => {
    const principal = caller({ claims });
    const attempt = { kind: 'http', request: 'GET /users/x/y' } as const;
    const [entry] = explain(compilePolicy('test', policy).decide(principal, attempt).plan, principal, attempt);
    expect(entry?.parts).toMatchObject([
      { kind: 'variable', reads: 'id', outcome: 'fails', wanted: 'variable id: claim sub ("u 1")', found: '"x"' },
    ]);
  });

  test.each<[string, object, string]>([
    ['GET /{a}/{a}', {}, 'has the variable {a} twice'],
    ['GET /x{a}', {}, 'has braces that are no variable'],
    ['GET /{a-b}', {}, 'has braces that are no variable'],
    ['GET /{1}', {}, 'has braces that are no variable'],
    ['GET /{a}', { variables: { b: 'x' } }, 'has no variable {b}; it has a'],
    ['GET /a', { variables: { b: 'x' } }, 'has no variable {b}; it has none'],
  ])('%s: %j', (key, entry, expected) => {
    expect(faultsOf({ requests: { [key]: entry } }).join()).toContain(expected);
  });

  test('a variable counts as *: it ties with one', () => {
    expect(faultsOf({ requests: { 'GET /{a}': {}, 'GET /*': {} } }).join()).toContain('neither is more specific');
  });

  test('rules over time name requests without variables', () => {
    const after = { request: 'GET /{a}', within: '1h' };
    expect(faultsOf({ requests: { 'GET /{a}': {}, 'POST /x': { after } } }).join()).toContain('has braces');
  });
});

describe('variables of resources', () => {
  const policy: PolicyDocument = {
    resources: {
      'crm://{tenant}/**': { variables: { tenant: { claim: 'tenant' } } },
      'doc://{a}-{b}/x': { variables: { a: { matches: '^[^-]*$' } } },
      'open://{any}': {},
      'crm://shared/**': {},
    },
    methods: { 'completion/complete': {} },
  };
  const denied = 'deny variable.denied resources.crm://{tenant}/**.variables.tenant';
  test.each([
    ['crm://acme/deals/1', 'allow resources.crm://{tenant}/**'],
    ['crm://acme/', 'allow resources.crm://{tenant}/**'],
    ['crm://globex/deals/1', denied],
    ['crm://ACME/deals', denied],
    ['crm://acme%20/deals', denied],
    ['crm://shared/x', 'allow resources.crm://shared/**'],
    ['open://x', 'allow resources.open://{any}'],
    ['open://x/y', 'deny resource.unlisted resources'],
    ['open://', 'deny resource.unlisted resources'],
    ['open://x?q', 'deny resource.unlisted resources'],
    ['doc://p-q/x', 'allow resources.doc://{a}-{b}/x'],
    // It can be read in two ways, and one of them is refused.
    ['doc://p-q-r/x', 'deny variable.denied resources.doc://{a}-{b}/x.variables.a'],
    ['doc://-q/x', 'deny resource.unlisted resources'],
  ])('%s: %s', (uri, expected) => {
    const given = { claims: { tenant: 'acme' } };
    expect(told(decide(policy, given, message('resources/read', `resource ${uri}`)))).toBe(expected);
  });

  test('each resource of a subscription must meet them', () => {
    const listen = (...uris: string[]): string =>
      told(
        decide(
          policy,
          { claims: { tenant: 'acme' } },
          message('subscriptions/listen', ...uris.map((uri) => `resource ${uri}`)),
        ),
      );
    expect(listen('crm://acme/1', 'crm://acme/2')).toBe('allow resources.crm://{tenant}/**');
    expect(listen('crm://acme/1', 'crm://globex/2')).toBe(denied);
    expect(listen('crm://globex/1', 'crm://acme/2')).toBe(denied);
    expect(listen('crm://shared/1', 'crm://acme/2', 'crm://globex/2')).toBe(denied);
  });

  test('lists hide URIs whose variables refuse the caller, and show templates', () => {
    const compiled = compilePolicy('test', policy);
    const principal = caller({ claims: { tenant: 'acme' } });
    const shows = (kind: 'resource' | 'template', name: string): boolean =>
      compiled.couldCall(principal, { kind, name });
    expect([shows('resource', 'crm://acme/1'), shows('resource', 'crm://globex/1')]).toEqual([true, false]);
    expect([shows('template', 'crm://{tenant}/**'), shows('template', 'crm://{t}/deals/{id}')]).toEqual([true, true]);
  });

  test('a completion names a template, and is decided without its variables', () => {
    const complete = message('completion/complete', 'template crm://{t}/deals');
    expect(told(decide(policy, { claims: {} }, complete))).toContain('allow');
  });

  test.each<[string, string]>([
    ['a://{x}{y}', 'beside another wildcard'],
    ['a://{x}*', 'beside another wildcard'],
    ['a://**{x}', 'beside another wildcard'],
    ['a://{x}/{x}', 'has the variable {x} twice'],
    ['a://%41/{x}', 'matches nothing'],
  ])('%s: %s', (key, expected) => {
    expect(faultsOf({ resources: { [key]: {} } }).join()).toContain(expected);
  });

  test('other braces are literal', () => {
    expect(faultsOf({ resources: { 'a://{+x}/{?y}': {}, 'b://{user-id}': {} } })).toEqual([]);
  });

  test('two keys that differ only in the names of variables match the same', () => {
    expect(faultsOf({ resources: { 'a://{x}': {}, 'a://{y}': {} } }).join()).toContain('matches the same resources');
    expect(faultsOf({ resources: { 'a://{x}': {}, 'a://*': {} } }).join()).toContain('matches the same resources');
  });

  test('variables stand in resources and requests alone', () => {
    const variables = { x: 'y' };
    expect(faultsOf({ tools: { '{x}': { variables } } } as PolicyDocument).join()).toContain('have no variables');
    expect(faultsOf({ methods: { '{x}': { variables } } } as PolicyDocument).join()).toContain('have no variables');
  });
});
