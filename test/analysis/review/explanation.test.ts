import { describe, expect, test } from 'vitest';
import { mcpMethod } from '../../../src/core/model/mcp.ts';
import { unknownArguments, type Attempt, type Explanation } from '../../../src/core/model/policy.ts';
import type { Principal } from '../../../src/core/model/principal.ts';
import { compilePolicy } from '../../../src/policy-parts/compile.ts';
import type { PolicyDocument } from '../../../src/core/policy/document.ts';
import { call, caller, type Given, message } from '../../core/policy/caller.ts';
import { explain } from '../../../src/analysis/review/explanation.ts';

function explained(document: PolicyDocument, given: Given, attempt: Attempt = { kind: 'http' }): readonly string[] {
  return conditionsOf(document, caller(given), attempt).flatMap((each) => lines(each, ''));
}

function conditionsOf(document: PolicyDocument, principal: Principal, attempt: Attempt): readonly Explanation[] {
  return explain(compilePolicy('p', document).decide(principal, attempt).plan, principal, attempt);
}

function lines({ rule, outcome, wanted, found, parts }: Explanation, indent: string): readonly string[] {
  const own = `${indent}${rule} ${outcome}: wanted ${wanted}, found ${found}`;
  return [own, ...parts.flatMap((part) => lines(part, `${indent}  `))];
}

describe('R-175: explains each condition by what it wanted and what it found', () => {
  test('goes on after the condition that decided', () => {
    const document = { scope: 'read', claims: { risk: { below: 50 }, tenant: 'acme' }, max_lifetime: '60s' };
    expect(explained(document, { scope: 'write', claims: { risk: 72, tenant: 'acme' }, lifetime: 300 })).toEqual([
      'scope fails: wanted scope "read", found "write"',
      'claims.risk fails: wanted claim risk: a number below 50, found 72',
      'claims.tenant holds: wanted claim tenant: "acme", found "acme"',
      'max_lifetime fails: wanted a lifetime (exp - iat) of at most 60 s, found 300 s',
    ]);
  });
  test('shows several scopes as one list, and no entries for a plain HTTP request', () => {
    const document = { scope: 'read write', tools: { pay: { scope: 'payments' } } };
    expect(explained(document, { scope: 'read admin' })).toEqual([
      'scope fails: wanted scope "read write", found "read admin"',
    ]);
  });
  test('nests the parts of any and not', () => {
    const document = { any: [{ scope: 'admin' }, { claims: { role: 'x' } }], not: { claims: { ai: true } } };
    expect(explained(document, { claims: { role: 'x', ai: true } })).toEqual([
      'any holds: wanted one of these, found 1 of 2 hold',
      '  any[0] fails: wanted all of these, found 0 of 1 hold',
      '    any[0].scope fails: wanted scope "admin", found no scope',
      '  any[1] holds: wanted all of these, found 1 of 1 hold',
      '    any[1].claims.role holds: wanted claim role: "x", found "x"',
      'not fails: wanted not all of these, found 1 of 1 hold',
      '  not holds: wanted all of these, found 1 of 1 hold',
      '    not.claims.ai holds: wanted claim ai: true (or another type), found true',
    ]);
  });
  test('nests the parts of all', () => {
    expect(explained({ all: [{ scope: 'a' }, {}], not: { scope: 'b' } }, { scope: 'a' })).toEqual([
      'all holds: wanted all of these, found 2 of 2 hold',
      '  all[0] holds: wanted all of these, found 1 of 1 hold',
      '    all[0].scope holds: wanted scope "a", found "a"',
      '  all[1] holds: wanted all of these, found 0 of 0 hold',
      'not holds: wanted not all of these, found 0 of 1 hold',
      '  not fails: wanted all of these, found 0 of 1 hold',
      '    not.scope fails: wanted scope "b", found "a"',
    ]);
  });
  test('shows the entry of the target, and the value of an argument', () => {
    const document = { tools: { pay: { scope: 'payments', arguments: { '/amount': { at_most: 10 } } } } };
    expect(explained(document, { scope: 'payments' }, call('pay', { amount: 4711 }))).toEqual([
      'tools.pay fails: wanted all of its conditions, found "pay"',
      '  tools.pay.scope holds: wanted scope "payments", found "payments"',
      '  tools.pay.arguments./amount fails: wanted argument /amount: a number of at most 10, found 4711',
    ]);
    expect(explained(document, { scope: 'payments' }, call('pay', { amount: 10 }))).toEqual([
      'tools.pay holds: wanted all of its conditions, found "pay"',
      '  tools.pay.scope holds: wanted scope "payments", found "payments"',
      '  tools.pay.arguments./amount holds: wanted argument /amount: a number of at most 10, found 10',
    ]);
    expect(explained(document, {}, call('a, found b'))).toEqual([
      'tools fails: wanted a tool that is listed, found "a, found b"',
    ]);
    expect(explained(document, {}, message('initialize'))).toEqual([]);
  });
  test('shows each of several entries with its own conditions on arguments', () => {
    const tools = { a: { arguments: { '/x': 1 } }, b: { arguments: { '/y': 2 } } };
    const attempt: Attempt = {
      kind: 'mcp',
      method: mcpMethod('tools/call'),
      targets: [
        { kind: 'tool', name: 'a' },
        { kind: 'tool', name: 'b' },
      ],
      arguments: { x: 1, y: 2 },
    };
    expect(explained({ tools }, {}, attempt).map((line) => line.split(' holds')[0]?.trim())).toEqual([
      'tools.a',
      'tools.a.arguments./x',
      'tools.b',
      'tools.b.arguments./y',
    ]);
  });

  test('shows no conditions on arguments for a completion, which has its own', () => {
    const document = { prompts: { sum: { arguments: { '/team': 'sales' } } } };
    expect(explained(document, {}, message('completion/complete', 'prompt sum'))).toEqual([
      'prompts.sum holds: wanted all of its conditions, found "sum"',
    ]);
  });
  test('shows each predicate on one argument', () => {
    const document = { tools: { pay: { arguments: { '/amount': { above: 0, at_most: 10 } } } } };
    const [, argument] = explained(document, {}, call('pay', { amount: 11 }));
    expect(argument).toContain('/amount fails: wanted argument /amount: a number of at most 10 and a number above 0');
  });
  test('shows that a value of another type, or one that no pointer reaches, counts as excluded', () => {
    const document: PolicyDocument = {
      not: { claims: { risk: { above: 50 } } },
      tools: { pay: { arguments: { '/amount': { not: { above: 9 } }, '/options/as_admin': { present: false } } } },
    };
    expect(explained(document, { claims: { risk: '72' } }, call('pay', { amount: '10', options: '{}' }))).toEqual([
      'not fails: wanted not all of these, found 1 of 1 hold',
      '  not holds: wanted all of these, found 1 of 1 hold',
      '    not.claims.risk holds: wanted claim risk: a number above 50 (or another type), found "72"',
      'tools.pay fails: wanted all of its conditions, found "pay"',
      '  tools.pay.arguments./amount fails: wanted argument /amount: not a number above 9 (or another type), found "10"',
      '  tools.pay.arguments./options/as_admin fails: wanted argument /options/as_admin: no value, found a value on the way to it that is not an object',
    ]);
  });
  test('reports a condition that cannot be evaluated as an error, also under not', () => {
    const document = { not: { claims: { name: { matches: 'x' } } } };
    const [whole] = conditionsOf(document, caller({ claims: { name: 'y'.repeat(5000) } }), {
      kind: 'http',
    });
    expect(whole?.outcome).toBe('error');
  });
  test('reports a condition on an unlogged argument as unknown, and its entry too unless another condition fails', () => {
    const document = { tools: { pay: { scope: 'payments', arguments: { '/amount': { at_most: 10 } } } } };
    const argument =
      '  tools.pay.arguments./amount unknown: wanted argument /amount: a number of at most 10, found unknown';
    expect(explained(document, { scope: 'payments' }, call('pay', unknownArguments))).toEqual([
      'tools.pay unknown: wanted all of its conditions, found "pay"',
      '  tools.pay.scope holds: wanted scope "payments", found "payments"',
      argument,
    ]);
    expect(explained(document, {}, call('pay', unknownArguments))).toEqual([
      'tools.pay fails: wanted all of its conditions, found "pay"',
      '  tools.pay.scope fails: wanted scope "payments", found no scope',
      argument,
    ]);
  });
  test('reports an argument whose name differs in case as an error', () => {
    const document = { tools: { pay: { scope: 'payments', arguments: { '/amount': { at_most: 10 } } } } };
    expect(explained(document, {}, call('pay', { Amount: 4711 }))).toEqual([
      'tools.pay error: wanted all of its conditions, found "pay"',
      '  tools.pay.scope fails: wanted scope "payments", found no scope',
      '  tools.pay.arguments./amount error: wanted argument /amount: a number of at most 10, found nothing',
    ]);
  });
  test('names the claim or argument that a condition reads, as written', () => {
    const document = { scope: 'a', claims: { '/realm/role': 'x' }, tools: { pay: { arguments: { '/amount': 1 } } } };
    const reads = (each: Explanation): readonly unknown[] => [each.reads, ...each.parts.flatMap(reads)];
    const conditions = conditionsOf(document, caller(), call('pay', unknownArguments));
    expect(conditions.flatMap(reads)).toEqual([undefined, '/realm/role', undefined, '/amount']);
  });
  test('gives each explanation the kind of its condition', () => {
    const document: PolicyDocument = {
      scope: 'a',
      acr: 'x',
      claims: { role: 'x' },
      any: [{}],
      all: [{}],
      not: {},
      max_lifetime: '1m',
      tools: { pay: { arguments: { '/amount': 1 } } },
    };
    const own = ['scope', 'claim', 'claim', 'any', 'all', 'not', 'lifetime'];
    const inCall = (attempt: Attempt): readonly Explanation[] => conditionsOf(document, caller(), attempt);
    expect(inCall(call('pay')).map(({ kind }) => kind)).toEqual([...own, 'listed']);
    expect(
      inCall(call('pay'))
        .at(-1)
        ?.parts.map(({ kind }) => kind),
    ).toEqual(['argument']);
    expect(inCall(call('other')).map(({ kind }) => kind)).toEqual([...own, 'listed']);
  });
});

test('shows the claim that an argument or a variable is compared with, and its value', () => {
  const ownTenant = { claim: 'tenant' };
  const given = { claims: { tenant: 'acme' } };
  const tools = { read: { arguments: { '/tenant': ownTenant } } };
  expect(explained({ tools }, given, call('read', { tenant: 'other' }))[1]).toBe(
    '  tools.read.arguments./tenant fails: wanted argument /tenant: claim tenant ("acme"), found "other"',
  );
  const requests = { 'GET /{t}': { variables: { t: ownTenant } } };
  expect(explained({ requests }, given, { kind: 'http', request: 'GET /other' })[1]).toBe(
    '  requests["GET /{t}"].variables.t fails: wanted variable t: claim tenant ("acme"), found "other"',
  );
});

describe('explains variables by each of the texts that they may stand for', () => {
  const resources = { 'x://**-{t}': { variables: { t: 'b' } } };
  const of = (uri: string): readonly string[] =>
    explained({ resources }, {}, message('resources/read', `resource ${uri}`)).slice(1);
  const rule = '  resources.x://**-{t}.variables.t';

  test.each([
    ['x://-b', 'holds', '"b"'],
    ['x://-a-b', 'fails', '"a-b" or "b"'],
    ['x://-a/-c', 'fails', '"c"'],
    [`x://${'-'.repeat(400)}`, 'error', 'too many readings'],
  ])('%s: %s', (uri, outcome, found) => {
    expect(of(uri)).toEqual([`${rule} ${outcome}: wanted variable t: "b", found ${found}`]);
  });

  test('a text that a server may read in another way', () => {
    const requests = { 'GET /{t}': { variables: { t: 'b' } } };
    expect(explained({ requests }, {}, { kind: 'http', request: 'GET /%FF' })[1]).toBe(
      '  requests["GET /{t}"].variables.t fails: wanted variable t: "b", ' +
        'found "%FF", which does not decode to one segment',
    );
  });

  test('a call without a target has none', () => {
    const attempt = message('resources/read', 'resource x://-b');
    const { plan } = compilePolicy('p', { resources }).decide(caller(), attempt);
    const [entry] = explain(plan, caller(), message('resources/read'));
    expect(entry?.parts).toMatchObject([{ kind: 'variable', reads: 't', outcome: 'fails', found: 'nothing' }]);
  });
});

test('explains a member beside the arguments, where what a call asks for decides', () => {
  const tools = { pay: { arguments: { '/amount': 1 } } };
  const attempt = { ...call('pay', { amount: 1 }), otherMember: 'params.more' };
  expect(explained({ tools }, {}, attempt)).toEqual([
    'tools.pay fails: wanted all of its conditions, found "pay"',
    '  tools.pay fails: wanted no member beside name and arguments, found params.more',
    '  tools.pay.arguments./amount holds: wanted argument /amount: 1, found 1',
  ]);
  const [entry] = conditionsOf({ tools }, caller(), attempt);
  expect(entry?.parts[0]).toMatchObject({ kind: 'argument', reads: 'params.more', parts: [] });
});

describe('explains an inner call by its own conditions', () => {
  const tools = {
    run: { inner: { name: '/tool', arguments: '/with' } },
    pay: { scope: 'payments', quota: [{ count: 5, per: '1h' }] },
  };
  const inner = (document: PolicyDocument, tool: string): readonly string[] =>
    explained(document, { scope: 'read', claims: { sub: 'alice' } }, call('run', { tool })).filter(
      (line) => !line.startsWith('tools.run'),
    );

  test('where the policy has none for all calls', () => {
    expect(inner({ tools }, 'pay')).toEqual([
      'tools.pay fails: wanted all of its conditions, found the inner call of "pay"',
      '  tools.pay.scope fails: wanted scope "payments", found "read"',
      'tools.pay.quota[0] unknown: wanted at most 5 calls per 1h, found unknown',
    ]);
    expect(inner({ tools }, 'other')).toEqual([
      'tools fails: wanted a tool that is listed, found the inner call of "other"',
    ]);
  });

  test('after those of the policy for all calls, once', () => {
    const policy = { scope: 'read', claims: { sub: 'alice' } };
    expect(inner({ ...policy, tools }, 'pay').slice(0, 3)).toEqual([
      'scope holds: wanted scope "read", found "read"',
      'claims.sub holds: wanted claim sub: "alice", found "alice"',
      'tools.pay fails: wanted all of its conditions, found the inner call of "pay"',
    ]);
  });
});

test('explains only plans of compiled policies', () => {
  const { plan } = compilePolicy('p', {}).decide(caller(), { kind: 'http' });
  expect(() => explain({ ...plan }, caller(), { kind: 'http' })).toThrow(TypeError);
});

describe('explains rules over time as far as the call alone decides them', () => {
  const document: PolicyDocument = {
    tools: {
      approve: {},
      pay: {
        never_after: { tool: 'read', within: '1d', same: ['/id', '/to'] },
        after: { tool: 'approve', within: '1h', same: ['/id'] },
        quota: [{ sum: '/amount', at_most: 10, per: '1h' }],
      },
      read: {},
    },
  };
  const alice = { claims: { sub: 'alice' } };
  const over = (given: Given, attempt: Attempt): readonly string[] =>
    explained(document, given, attempt).filter((line) => /after|quota/.test(line));

  test('what depends on earlier calls is unknown, and so is what depends on unknown arguments', () => {
    const unknown = [
      'tools.pay.never_after unknown: wanted no call of read within 1d with the same /id, /to, found unknown',
      'tools.pay.after unknown: wanted an answered call of approve within 1h with the same /id, found unknown',
      'tools.pay.quota[0] unknown: wanted a sum of /amount of at most 10 per 1h, found unknown',
    ];
    expect(over(alice, call('pay', { id: 1, amount: 2 }))).toEqual(unknown);
    expect(over(alice, call('pay', unknownArguments))).toEqual(unknown);
  });

  test('a value that is missing fails after, and leaves never_after to calls that cannot be compared', () => {
    expect(over(alice, call('pay', { amount: 11 }))).toEqual([
      'tools.pay.never_after unknown: wanted no call of read within 1d with the same /id, /to, found unknown',
      'tools.pay.after fails: wanted an answered call of approve within 1h with the same /id, found no value that could be the same',
      'tools.pay.quota[0] fails: wanted a sum of /amount of at most 10 per 1h, ' +
        'found argument /amount: wanted a number from 0 to 10, found more',
    ]);
  });

  test('a rule of another call is shown only where it cannot count this one', () => {
    expect(over(alice, call('approve', { id: 1 }))).toEqual([]);
    expect(over(alice, call('approve', { id: [] }))).toEqual([]);
    const tenants = { tools: { approve: {}, pay: { after: { tool: 'approve', within: '1h', by: 'tenant' } } } };
    expect(explained(tenants, alice, call('approve')).filter((line) => line.includes('after'))).toEqual([
      'tools.pay.after fails: wanted an answered call of approve within 1h by tenant, found wanted claim tenant ' +
        'as a string, an integer or a boolean, by which calls are counted, found nothing',
    ]);
    const own = { tools: { pay: { never_after: { tool: 'pay', within: '1d', same: ['/id'] } } } };
    expect(explained(own, alice, call('pay', { id: [] })).filter((line) => line.includes('after'))).toHaveLength(1);
    const owned = { tools: { pay: { never_after: { tool: 'pay', within: '1d', by: 'tenant' } } } };
    expect(explained(owned, alice, call('pay')).filter((line) => line.includes('after'))).toHaveLength(1);
  });

  test('an argument that cannot be read is an error', () => {
    expect(over(alice, call('pay', { ID: 2, amount: 1 }))[0]).toBe(
      'tools.pay.never_after error: wanted no call of read within 1d with the same /id, /to, found an argument that cannot be read',
    );
  });
});
