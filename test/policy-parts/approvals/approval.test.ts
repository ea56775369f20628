import { approvalsKey } from '../../../src/policy-parts/approvals/key.ts';
import { describe, expect, test } from 'vitest';
import type { NeededApproval } from '../../../src/policy-parts/approvals/needed-approval.ts';
import { type Attempt, type Policy, unknownArguments } from '../../../src/core/model/policy.ts';
import { comparePolicies } from '../../../src/analysis/compare/compare.ts';
import { compilePolicy } from '../../../src/policy-parts/compile.ts';
import type { PolicyDocument } from '../../../src/core/policy/document.ts';
import type { ApprovalDocument, ApprovalWhenDocument } from '../../../schema/validators.js';
import { decideAfter } from '../../../src/analysis/review/earlier-calls.ts';
import { call, caller, faultsOf, message } from '../../core/policy/caller.ts';
import { deciding, policyOf, proofOf } from '../../analysis/prove/deciding.ts';
import { explain } from '../../../src/analysis/review/explanation.ts';

const by = { claims: { role: 'supervisor' } };

function transfers(approval: ApprovalDocument): PolicyDocument {
  return { tools: { transfer: { scope: 'payments', approval } } };
}

function needs(when: ApprovalWhenDocument, args: unknown, given: Parameters<typeof caller>[0] = {}): boolean {
  const policy = compilePolicy('test', transfers({ when, by }));
  return approvalOf(policy, call('transfer', args), caller(given)) !== undefined;
}

function approvalOf(policy: Policy, attempt: Attempt, principal = caller()): NeededApproval | undefined {
  return approvalsKey.inPlan(policy.decide(principal, attempt).plan)?.needed(principal, attempt);
}

describe('R-286: only a value of the right type spares a call from an approval', () => {
  const above = { arguments: { '/amount': { above: 1000 } } };
  test.each<[unknown, boolean]>([
    [{ amount: 1000 }, false],
    [{ amount: 1001 }, true],
    [{ amount: '5000' }, true],
    [{ amount: [5000] }, true],
    [{ amount: null }, true],
    [{ amount: { value: 1 } }, true],
    [{ amount: true }, true],
    [{}, true],
    [undefined, true],
  ])('of %j above 1000: %s', (args, expected) => expect(needs(above, args)).toBe(expected));

  test.each<[ApprovalWhenDocument, unknown, boolean]>([
    [{}, {}, true],
    [{ arguments: { '/note': { present: true } } }, {}, false],
    [{ arguments: { '/note': { present: true } } }, { note: 'x' }, true],
    [{ arguments: { '/note': { present: false } } }, { note: 'x' }, false],
    [{ arguments: { '/note/x': { present: false } } }, { note: '{"x":1}' }, true],
    [{ arguments: { '/note/x': { present: true } } }, { note: '{"x":1}' }, true],
    [{ arguments: { '/to': 'ops' } }, { to: 'bank' }, false],
    [{ arguments: { '/to': 'ops' } }, { to: ['ops'] }, true],
    [{ arguments: { '/to': { not: ['ops', 'hr'] } } }, { to: 'ops' }, false],
    [{ arguments: { '/to': { not: ['ops', 'hr'] } } }, {}, true],
    [{ arguments: { '/to': { not: ['ops', 'hr'] } } }, { to: ['ops'] }, true],
    [{ arguments: { '/to': { not: { not: 'ops' } } } }, {}, true],
    [{ arguments: { '/tags': { contains: 'risky' } } }, { tags: ['calm'] }, false],
    [{ arguments: { '/tags': { contains: 'risky' } } }, { tags: [1] }, true],
    [{ arguments: { '/tags': { contains: 'risky' } } }, { tags: 'risky' }, true],
    [{ arguments: { '/n': { integer: true, above: 10 } } }, { n: '5' }, false],
    [{ arguments: { '/n': { integer: true, above: 10 } } }, { n: '5.0' }, true],
    [{ arguments: { '/amount': { above: 1000 }, '/to': 'ops' } }, { amount: 5, to: 'ops' }, false],
  ])('under %j of %j: %s', (when, args, expected) => expect(needs(when, args)).toBe(expected));

  test.each<[ApprovalWhenDocument, Parameters<typeof caller>[0], boolean]>([
    [{ claims: { role: 'intern' } }, { claims: { role: 'lead' } }, false],
    [{ claims: { role: 'intern' } }, { claims: {} }, true],
    [{ scope: 'bulk' }, { scope: 'bulk' }, true],
    [{ scope: 'bulk' }, {}, false],
    [{ not: { max_lifetime: '60s' } }, { lifetime: 60 }, false],
    [{ not: { max_lifetime: '60s' } }, { lifetime: null }, true],
    [{ max_lifetime: '60s' }, { lifetime: null }, true],
    [{ any: [{ claims: { a: 1 } }, { claims: { b: 1 } }] }, { claims: { a: 2, b: 2 } }, false],
  ])('under %j of a caller with %j: %s', (when, given, expected) => expect(needs(when, {}, given)).toBe(expected));

  test('what cannot be judged refuses the call', () => {
    const policy = policyOf(transfers({ when: { arguments: { '/note': { matches: 'x' } } }, by }));
    const decision = policy.decide(caller({ scope: 'payments' }), call('transfer', { note: 'y'.repeat(5000) }));
    expect(decision).toMatchObject({ allow: false, denial: { reason: 'policy.error' } });
  });
});

test('an approval depends on all arguments, and refuses a member beside them', () => {
  const policy = policyOf({ tools: { list: {}, pay: { approval: { by }, after: { tool: 'list', within: '1h' } } } });
  const attempt = call('pay', {});
  expect(policy.decide(caller(), attempt).plan.argumentsRead(attempt)).toContainEqual([]);
  expect(policy.decide(caller(), { ...attempt, otherMember: 'params.more' })).toMatchObject({
    denial: { reason: 'argument.denied', rule: 'tools.pay' },
  });
});

test('a call of another tool needs none of its arguments', () => {
  const policy = policyOf({ tools: { list: {}, pay: { approval: { by } } } });
  expect(policy.decide(caller(), call('list')).plan.argumentsRead(call('list'))).toEqual([]);
});

test('a record has the claims by which a call needs an approval, and those that approvers are compared with', () => {
  const policy = policyOf(
    transfers({
      when: { claims: { desk: 'fx' } },
      by: { claims: { org: { claim: 'team' }, tenant: { caller: 'tenant' } } },
    }),
  );
  const claims = { desk: 'fx', tenant: 'acme', org: 'a', team: 'a' };
  expect(policy.claimsRead(claims)).toEqual({ desk: 'fx', tenant: 'acme' });
  expect(approvalOf(policy, call('transfer', {}), caller({ claims }))?.asker).toBe('{"tenant":"acme"}');
});

describe('a caller that no person can approve', () => {
  const denialOf = (approvers: ApprovalDocument['by'], claims: Record<string, unknown>): unknown =>
    approvalOf(policyOf(transfers({ by: approvers })), call('transfer', {}), caller({ claims }))?.denial;

  test('is refused for the claims that it lacks', () => {
    const tenants = { tenant: { caller: 'tenant' }, org: { caller: '/org/id' } };
    expect(denialOf({ claims: tenants }, { tenant: 'acme', org: 'x' })).toEqual({
      reason: 'approval.denied',
      rule: 'tools.transfer.approval',
      detail: 'no person can approve a call of a caller without claim tenant, /org/id, or with one of another type',
      scope: [],
    });
  });

  test.each([
    [{ tenant: 'acme' }, 'approval.required'],
    [{}, 'approval.denied'],
  ])('with %j, where the claim is one of several in a path: %s', (claims, reason) => {
    const path = { within: ['/home', { caller: 'tenant' }, { claim: 'sub' }] };
    expect(denialOf({ claims: { folder: path } }, claims)).toMatchObject({ reason });
  });

  test.each<[ApprovalDocument['by'], string]>([
    [{ claims: { tenant: { caller: 'tenant' } } }, 'approval.denied'],
    [{ not: { claims: { tenant: { caller: 'tenant' } } } }, 'approval.denied'],
    [{ not: { not: { claims: { tenant: { caller: 'tenant' } } } } }, 'approval.denied'],
    [{ claims: { tenant: { not: { not: { caller: 'tenant' } } } } }, 'approval.denied'],
    [{ any: [by, { claims: { tenant: { caller: 'tenant' } } }] }, 'approval.required'],
    [{ not: { any: [by, { claims: { tenant: { caller: 'tenant' } } }] } }, 'approval.denied'],
    // A person without the role meets the `not`, whatever the tenant is.
    [{ not: { claims: { role: 'intern', tenant: { caller: 'tenant' } } } }, 'approval.required'],
    [{ not: { all: [by, { claims: { tenant: { caller: 'tenant' } } }] } }, 'approval.required'],
  ])('without a tenant under %j: %s', (approvers, reason) => {
    expect(denialOf(approvers, {})).toMatchObject({ reason });
  });
});

describe('`by` restricts a claim of a person', () => {
  test.each<[ApprovalDocument['by'], isOpen: boolean]>([
    // Any person, explicitly.
    [{}, false],
    [{ scope: 'approve' }, true],
    [by, false],
    [{ scope: 'approve', ...by }, false],
    [{ claims: { '/realm_access/roles': { contains: 'boss' } } }, false],
    // What every person of the same issuer and client has.
    [{ claims: { iss: 'https://as.example' } }, true],
    [{ claims: { client_id: 'console' } }, true],
    [{ claims: { '/acr': 'gold', '/amr/0': 'otp' } }, true],
    [{ acr: 'gold', max_age: '5m' }, true],
    // Another claim, which is no pointer.
    [{ claims: { 'ac/r': 'gold' } }, false],
    [{ any: [by, { scope: 'approve' }] }, true],
    [{ any: [by, { claims: { team: 'risk' } }] }, false],
    [{ all: [by, { scope: 'approve' }] }, false],
    // Also met by a person without the claim.
    [{ not: by }, true],
    [{ not: by, claims: { team: 'risk' } }, false],
  ])('%j: open %s', (approvers, isOpen) => {
    const path = ['tools', 'transfer', 'approval', 'by'];
    const policy = policyOf(transfers({ by: approvers }));
    expect(approvalsKey.inPolicy(policy)?.openApprovers).toEqual(isOpen ? [path] : []);
  });
});

describe('R-287: an approval is asked for last', () => {
  const policy = policyOf({
    ...transfers({ when: { arguments: { '/amount': { above: 10 } } }, by }),
    because: 'Ask Eve.',
  });
  const decide = (given: Parameters<typeof caller>[0], args: object, approval: 'none' | 'approved' = 'none') =>
    decideAfter({ policy, principal: caller(given), attempt: call('transfer', args), earlier: [], approval }).decision;

  test('a call that lacks a scope is asked for the scope', () =>
    expect(decide({}, { amount: 11 })).toMatchObject({ denial: { reason: 'scope.insufficient' } }));
  test('then for the approval, with the words of the operator', () =>
    expect(decide({ scope: 'payments' }, { amount: 11 })).toEqual({
      allow: false,
      rule: 'tools.transfer.approval',
      denial: {
        reason: 'approval.required',
        detail: 'wanted an approval of this call, found none',
        rule: 'tools.transfer.approval',
        scope: [],
        because: 'Ask Eve.',
      },
    }));
  test('with one it passes', () =>
    expect(decide({ scope: 'payments' }, { amount: 11 }, 'approved')).toMatchObject({ allow: true }));
  test('without need of one too', () =>
    expect(decide({ scope: 'payments' }, { amount: 10 })).toMatchObject({ allow: true }));
  test.each([
    [11, 'unknown', 'unknown'],
    [10, 'holds', 'that this call needs none'],
    [undefined, 'error', 'a value that cannot be judged'],
  ])('explain shows it for an amount of %j: %s', (amount, outcome, found) => {
    const args = amount === undefined ? { Amount: 1 } : { amount };
    const [principal, attempt] = [caller({ scope: 'payments' }), call('transfer', args)];
    const [entry, approval] = explain(policy.decide(principal, attempt).plan, principal, attempt).slice(-2);
    expect(entry).toMatchObject({ kind: 'listed', outcome: 'holds' });
    const wanted = 'an approval of this call by an approver with claim role: "supervisor"';
    expect(approval).toEqual({ kind: 'approval', rule: 'tools.transfer.approval', outcome, wanted, found, parts: [] });
  });
  test.each<[approval: ApprovalDocument, words: string]>([
    [{ by: {} }, 'any approver'],
    [{ by: {}, self: true }, 'any approver, who may be the caller'],
    [{ by: { scope: 'approve', ...by } }, 'an approver with scope "approve" and claim role: "supervisor"'],
    [
      { by: { any: [by, { claims: { team: 'risk', level: { at_least: 3 } } }] } },
      'an approver with (claim role: "supervisor" or claim team: "risk" and claim level: a number of at least 3)',
    ],
    [
      { by: { claims: { tenant: { caller: 'tenant' }, role: { claim: 'job' } } } },
      'an approver with claim tenant: claim tenant of the caller that asks (nothing) and claim role: claim job (nothing)',
    ],
    [{ by: { any: [by] } }, 'an approver with claim role: "supervisor"'],
    [{ by: { ...by, not: { scope: 'x' } } }, 'an approver with claim role: "supervisor" and not (scope "x")'],
    [
      { by: { not: { scope: 'x', max_lifetime: '60s' } } },
      'an approver with not (scope "x" and a lifetime (exp - iat) of at most 60 s)',
    ],
  ])('explain says by whom: %j', (approval, words) => {
    const attempt = call('transfer', {});
    const explained = explain(policyOf(transfers(approval)).decide(caller({}), attempt).plan, caller({}), attempt);
    expect(explained.at(-1)?.wanted).toBe(`an approval of this call by ${words}`);
  });
  test.each([
    [{ tenant: 'acme' }, 'claim tenant of the caller that asks ("acme")', 'unknown', 'unknown'],
    [{}, 'claim tenant of the caller that asks (nothing)', 'fails', 'a caller that no person can approve'],
  ])('explain compares approvers with the claims of a caller with %j', (claims, words, outcome, found) => {
    const [principal, attempt] = [caller({ scope: 'payments', claims }), call('transfer', {})];
    const ofTenant = policyOf(transfers({ by: { claims: { tenant: { caller: 'tenant' } } } }));
    expect(explain(ofTenant.decide(principal, attempt).plan, principal, attempt).at(-1)).toEqual({
      kind: 'approval',
      rule: 'tools.transfer.approval',
      wanted: `an approval of this call by an approver with claim tenant: ${words}`,
      outcome,
      found,
      parts: [],
    });
  });
  test('arguments that were not recorded leave it open, if it depends on them', () => {
    expect(approvalOf(policy, call('transfer', unknownArguments))).toMatchObject({ isCertain: false });
    const always = policyOf(transfers({ by }));
    expect(approvalOf(always, call('transfer', unknownArguments))).toMatchObject({ isCertain: true });
  });
  test('a completion uses nothing of what it names', () => {
    const prompts = policyOf({ prompts: { plan: { approval: { by } } } });
    expect(approvalOf(prompts, message('completion/complete', 'prompt plan'))).toBeUndefined();
    expect(approvalOf(prompts, message('prompts/get', 'prompt plan'))).toBeDefined();
    const completions = policyOf({ methods: { 'completion/complete': { approval: { by } } } });
    expect(approvalOf(completions, message('completion/complete', 'prompt plan'))).toBeDefined();
  });
  test('in shadow mode it is only recorded', () => {
    const shadow = policyOf({ ...transfers({ by }), mode: 'shadow' });
    const recorded = (given: Parameters<typeof caller>[0]) =>
      decideAfter({
        policy: shadow,
        principal: caller(given),
        attempt: call('transfer', {}),
        earlier: [],
        approval: 'none',
      });
    const ofApproval = { allow: true, shadow: { reason: 'approval.required' } };
    expect(recorded({ scope: 'payments' }).decision).toMatchObject(ofApproval);
    expect(recorded({}).decision).toMatchObject({ allow: true, shadow: { reason: 'scope.insufficient' } });
  });
});

describe('R-286: of several entries one person must satisfy all', () => {
  const own = { by, self: true, shows: ['/amount'], wait: '5m' };
  const ofMethod = { by: { claims: { team: 'risk' } }, valid: '1m' };
  const policyWith = (approval: ApprovalDocument, because?: string): Policy =>
    policyOf({
      tools: { transfer: { approval: own } },
      methods: { 'tools/call': { approval, ...(because !== undefined && { because }) } },
    });
  const neededBy = (policy: Policy): NeededApproval => {
    const needed = approvalOf(policy, call('transfer', {}));
    if (needed === undefined) throw new TypeError('no approval is needed');
    return needed;
  };

  test('in the shortest of the times, and by what both say', () => {
    const policy = policyWith(ofMethod, 'Ask Eve.');
    const { admits, ...needed } = neededBy(policy);
    const rules = ['tools.transfer.approval', 'methods.tools/call.approval'] as const;
    const [rule] = rules;
    expect(needed).toStrictEqual({
      rules,
      self: false,
      waitMs: 300_000,
      validMs: 60_000,
      shows: undefined,
      asker: undefined,
      because: 'Ask Eve.',
      text: JSON.stringify([
        [rule, JSON.stringify(own)],
        [rules[1], JSON.stringify(ofMethod)],
      ]),
      identity: JSON.stringify([
        [rule, JSON.stringify({ approval: own })],
        [rules[1], JSON.stringify({ approval: ofMethod, because: 'Ask Eve.' })],
      ]),
      isCertain: true,
      isShadow: false,
      denial: { reason: 'approval.required', detail: 'wanted an approval of this call, found none', scope: [], rule },
    });
    expect(approvalsKey.inPolicy(policy)?.at(rules)).toMatchObject(needed);
    expect(approvalsKey.inPolicy(policy)?.at([rule, 'tools.other.approval'])).toBeUndefined();
    expect(admits(caller({ claims: { role: 'supervisor' } }))).toBe(false);
    expect(admits(caller({ claims: { role: 'supervisor', team: 'risk' } }))).toBe(true);
  });

  test.each<[ApprovalDocument, object]>([
    [
      { by, self: true, shows: ['/to'] },
      { self: true, shows: ['/amount', '/to'], validMs: 600_000 },
    ],
    [
      { by, self: true },
      { self: true, shows: undefined, waitMs: 300_000 },
    ],
  ])('beside %j: %j', (other, expected) => {
    const policy = policyOf({ tools: { transfer: { approval: own }, pay: { approval: other } } });
    const attempt = message('tools/call', 'tool transfer', 'tool pay');
    expect(approvalOf(policy, attempt)).toMatchObject(expected);
  });

  test('one waits for an hour, if the policy does not say how long', () => {
    expect(approvalOf(policyOf(transfers({ by })), call('transfer', {}))).toMatchObject({ waitMs: 3_600_000 });
  });

  test('and is refused if that cannot be judged', () => {
    const { admits } = neededBy(policyWith({ by: { claims: { name: { matches: 'x' } } } }));
    expect(admits(caller({ claims: { role: 'supervisor', name: 'x'.repeat(5000) } }))).toBe(false);
  });
});

const malformed = (pointer: string): string =>
  `"${pointer}" is not a JSON Pointer (RFC 6901): within a name, write "~" as "~0" and "/" as "~1"`;
test.each<[string, PolicyDocument, string[]]>([
  [
    'arguments of a resource',
    { resources: { 'a:x': { approval: { by, when: { arguments: { '/x': 1 } } } } } },
    ['resources.a:x.approval.when.arguments: resources have no arguments; only tools and prompts do'],
  ],
  [
    'shown arguments of a method',
    { methods: { x: { approval: { by, shows: ['/x'] } } } },
    ['methods.x.approval.shows[0]: methods have no arguments; only tools and prompts do'],
  ],
  ['no arguments of a prompt', { prompts: { x: { approval: { by, when: { arguments: { '/x': 1 } } } } } }, []],
  [
    'malformed pointers',
    transfers({
      by: { claims: { '/~2': 1 } },
      when: { claims: { '/~3': 1 }, arguments: { '/~4': 1 } },
      shows: ['/x', '/~5'],
    }),
    [
      `tools.transfer.approval.when.claims./~3: ${malformed('/~3')}`,
      `tools.transfer.approval.when.arguments./~4: ${malformed('/~4')}`,
      `tools.transfer.approval.by.claims./~2: ${malformed('/~2')}`,
      `tools.transfer.approval.shows[1]: ${malformed('/~5')}`,
    ],
  ],
])('refuses %s', (_what, document, faults) => {
  expect(faultsOf(document)).toEqual(faults);
});

describe('R-288: proofs and comparisons know approvals', () => {
  const limited = transfers({ when: { arguments: { '/amount': { above: 1000 } } }, by });
  const large = { tool: 'transfer', arguments: { '/amount': { above: 1000 } } };
  // oxlint-disable unicorn/no-thenable -- a property has it
  test('no transfer above 1000 without a supervisor', () =>
    expect(proofOf(limited, { for_all: { approval: 'none' }, when: large, then: 'deny' }).outcome).toBe('holds'));
  test('with one it may pass, and the example says so', () =>
    expect(proofOf(limited, { for_all: {}, when: large, then: 'deny' })).toMatchObject({
      outcome: 'fails',
      counterexample: { given: { scope: 'payments', approval: 'approved' } },
    }));
  test('of two, one that a call lacks is enough', () => {
    const both = { ...transfers({ by }), methods: { 'tools/call': { approval: { by } } } };
    const property = { for_all: { approval: 'none' }, when: { tool: 'transfer' }, then: 'deny' } as const;
    expect(proofOf(both, property).outcome).toBe('holds');
  });
  test('a text is no way around it', () =>
    expect(
      proofOf(limited, {
        for_all: { approval: 'none' },
        when: { tool: 'transfer', arguments: { '/amount': { not: { at_most: 1000 } } } },
        then: 'deny',
      }).outcome,
    ).toBe('holds'));
  test('both are possible, whichever is harder', () =>
    expect(proofOf(limited, { for_all: { scope: 'payments' }, when: large, then: 'allow' })).toMatchObject({
      outcome: 'fails',
      decision: { denial: { reason: 'approval.required' } },
    }));
  // oxlint-enable unicorn/no-thenable

  const none = { tools: { transfer: { scope: 'payments' } } };
  test.each<[string, PolicyDocument, PolicyDocument, object]>([
    ['approval added', none, limited, { was: 'allow', now: 'approval.required' }],
    ['approval removed', limited, none, { was: 'approval.required', now: 'allow' }],
    ['approval changed', limited, transfers({ by }), { was: 'allow', now: 'approval.required' }],
    [
      'approval changed',
      limited,
      transfers({ ...limited.tools?.['transfer']?.approval, by: {} }),
      { witness: undefined },
    ],
    ['approval changed', transfers({ by }), transfers({ by, self: true }), { witness: undefined }],
  ])('compare says %s', (kind, before, after, rest) => {
    const { differences } = comparePolicies(policyOf(before), policyOf(after), deciding());
    expect(differences).toMatchObject([{ kind, rule: 'tools.transfer', ...rest }]);
  });

  // `D` is covered by the pattern, and refused as a misspelt `d`: no name is in the pattern of one policy alone.
  test('compare finds no difference in a pattern beside a name that differs in case', () => {
    const prompts = { 'D*': { approval: { by: {} } }, d: {} };
    const [before, after]: PolicyDocument[] = [{ not: { scope: 'pay' } }, { all: [{ not: { scope: 'pay' } }] }];
    expect(comparePolicies(policyOf({ ...before, prompts }), policyOf({ ...after, prompts }), deciding())).toEqual({
      differences: [],
      undecided: [],
    });
  });
});
