import { describe, expect, test } from 'vitest';
import type { Attempt, McpAttempt, PolicyDecision } from '../../../src/core/model/policy.ts';
import { calledTool, unknownArguments } from '../../../src/core/model/policy.ts';
import type { PolicyDocument } from '../../../src/core/policy/document.ts';
import { approvalsKey } from '../../../src/policy-parts/approvals/key.ts';
import type { CallHistory } from '../../../src/policy-parts/history/call-history.ts';
import { createReviewLedger } from '../../../src/analysis/review/earlier-calls.ts';
import { historyKey } from '../../../src/policy-parts/history/key.ts';
import { reservationOf } from '../../../src/policy-parts/history/reservation.ts';
import { compilePolicy } from '../../../src/policy-parts/compile.ts';
import { alice, call, caller, decide, faultsOf, type Given, told } from '../../core/policy/caller.ts';
import { decides } from '../../core/policy/decides.ts';
import { explain } from '../../../src/analysis/review/explanation.ts';

const one = { name: '/tool_name', arguments: '/parameters' };
const batch = { each: '/calls', name: '/name', arguments: '/args' };

/** A call of `call_tool` that calls another tool. */
function calling(tool: string, parameters?: unknown): Record<string, unknown> {
  return { tool_name: tool, ...(parameters !== undefined && { parameters }) };
}

const bank: PolicyDocument = {
  scope: 'read',
  tools: {
    call_tool: { inner: one },
    run_batch: { scope: 'batch', inner: batch },
    search: {},
    'get_*': {},
    transfer_funds: { scope: 'payments', arguments: { '/amount': { at_most: 1000 } } },
    close_account: { claims: { role: 'manager' }, because: 'Only a manager closes accounts' },
  },
};

const pay = (amount: unknown): string => JSON.stringify(calling('transfer_funds', { amount }));
const batchOf = (...calls: readonly object[]): string => JSON.stringify({ calls });

decides(
  'a call is decided as itself and as a call of each inner tool',
  bank,
  `
    read | call call_tool {"tool_name":"search"} → allow tools.call_tool
    read | call call_tool {"tool_name":"get_account","parameters":{"id":1}} → allow tools.call_tool
    read | call call_tool ${pay(10)} → deny scope.insufficient tools.transfer_funds.scope [read payments]
    read payments | call call_tool ${pay(10)} → allow tools.call_tool
    read payments | call call_tool ${pay(1001)} → deny argument.denied tools.transfer_funds.arguments./amount
    read | call call_tool ${pay(1001)} → deny argument.denied tools.transfer_funds.arguments./amount
    read payments | call call_tool ${pay('10')} → deny argument.denied tools.transfer_funds.arguments./amount
    payments | call call_tool ${pay(10)} → deny scope.insufficient scope [read payments]
    read | call call_tool {"tool_name":"drop_tables"} → deny tool.unlisted tools
    read | call call_tool {"tool_name":"close_account"} → deny claim.denied tools.close_account.claims.role
    read {"role":"manager"} | call call_tool {"tool_name":"close_account"} → allow tools.call_tool
  `,
);

decides(
  'a challenge names the scopes of all calls of a batch, and a refusal for good comes before it',
  bank,
  `
    read | call run_batch ${batchOf({ name: 'search' }, { name: 'transfer_funds', args: { amount: 1 } })} → deny scope.insufficient tools.run_batch.scope [read batch payments]
    read batch | call run_batch ${batchOf({ name: 'transfer_funds', args: { amount: 1 } })} → deny scope.insufficient tools.transfer_funds.scope [read batch payments]
    read batch payments | call run_batch ${batchOf({ name: 'search' }, { name: 'transfer_funds', args: { amount: 1 } })} → allow tools.run_batch
    read | call run_batch ${batchOf({ name: 'transfer_funds', args: { amount: 1 } }, { name: 'close_account' })} → deny claim.denied tools.close_account.claims.role
    read batch payments | call run_batch ${batchOf({ name: 'search' }, { name: 'transfer_funds', args: { amount: 9999 } })} → deny argument.denied tools.transfer_funds.arguments./amount
  `,
);

const unreadable = 'deny argument.denied tools.call_tool.inner';
decides(
  'what cannot be read is refused: a name that is no text, arguments that are no object',
  bank,
  `
    read | call call_tool → ${unreadable}
    read | call call_tool {} → ${unreadable}
    read | call call_tool {"tool_name":null} → ${unreadable}
    read | call call_tool {"tool_name":["search"]} → ${unreadable}
    read | call call_tool {"tool_name":{"name":"search"}} → ${unreadable}
    read | call call_tool {"tool_name":"search\\u0000_x"} → ${unreadable}
    read | call call_tool {"tool_name":"${'x'.repeat(1025)}"} → ${unreadable}
    read | call call_tool {"tool_name":"search","parameters":null} → ${unreadable}
    read | call call_tool {"tool_name":"search","parameters":[]} → ${unreadable}
    read | call call_tool {"tool_name":"search","parameters":"{\\"a\\":1}"} → ${unreadable}
    read | call call_tool {"Tool_Name":"search"} → deny policy.error policy
    read | call call_tool {"tool_name":"search","Parameters":{}} → deny policy.error policy
  `,
);

const noBatch = 'deny argument.denied tools.run_batch.inner';
decides(
  'a batch is a list of 1 to 32 objects',
  bank,
  `
    read batch | call run_batch {} → ${noBatch}
    read batch | call run_batch {"calls":[]} → ${noBatch}
    read batch | call run_batch {"calls":{"0":{"name":"search"}}} → ${noBatch}
    read batch | call run_batch {"calls":"[{\\"name\\":\\"search\\"}]"} → ${noBatch}
    read batch | call run_batch {"calls":[{"name":"search"},null]} → ${noBatch}
    read batch | call run_batch {"calls":[{"name":"search"},"search"]} → ${noBatch}
    read batch | call run_batch {"calls":[{"name":"search","args":null}]} → ${noBatch}
    read batch | call run_batch ${batchOf(...Array.from({ length: 32 }, () => ({ name: 'search' })))} → allow tools.run_batch
    read batch | call run_batch ${batchOf(...Array.from({ length: 33 }, () => ({ name: 'search' })))} → ${noBatch}
  `,
);

decides(
  'a name that servers may read as a restricted one is not covered by a pattern',
  { tools: { call_tool: { inner: one }, '*': {}, transfer_funds: { scope: 'payments' } } },
  `
    call call_tool {"tool_name":"other"} → allow tools.call_tool
    call call_tool {"tool_name":"Transfer_Funds"} → deny tool.unlisted tools
    call call_tool {"tool_name":"transfer_funds "} → deny tool.unlisted tools
    call call_tool {"tool_name":"transfer\\u200b_funds"} → deny tool.unlisted tools
    call Call_Tool {"tool_name":"transfer_funds"} → deny tool.unlisted tools
  `,
);

/** `call_tool` that calls itself, and `search` at the innermost level. */
function nested(levels: number): Record<string, unknown> {
  return levels === 1 ? calling('search') : calling('call_tool', nested(levels - 1));
}

describe('an inner tool that calls others is followed', () => {
  test.each([
    [1, 'allow tools.call_tool'],
    [4, 'allow tools.call_tool'],
    [5, 'deny argument.denied tools.call_tool.inner'],
    [2000, 'deny argument.denied tools.call_tool.inner'],
  ])('%d levels: %s', (levels, expected) => {
    expect(told(decide(bank, { scope: 'read' }, call('call_tool', nested(levels))))).toBe(expected);
  });

  test('to the innermost, in its own terms', () => {
    const inner = calling('call_tool', calling('transfer_funds', { amount: 10 }));
    const deny = 'deny scope.insufficient tools.transfer_funds.scope [read payments]';
    expect(told(decide(bank, { scope: 'read' }, call('call_tool', inner)))).toBe(deny);
    const broken = calling('call_tool', calling('call_tool', { tool_name: 7 }));
    expect(told(decide(bank, { scope: 'read' }, call('call_tool', broken)))).toBe(unreadable);
  });

  test('to 128 inner calls in all', () => {
    const full = (calls: number): object => ({
      name: 'run_batch',
      args: { calls: Array.from({ length: calls }, () => ({ name: 'search' })) },
    });
    const given = { scope: 'read batch' };
    // Four batches, each with its own call.
    const most = { calls: [full(31), full(31), full(31), full(31)] };
    expect(told(decide(bank, given, call('run_batch', most)))).toBe('allow tools.run_batch');
    const more = { calls: [full(31), full(31), full(31), full(32)] };
    expect(told(decide(bank, given, call('run_batch', more)))).toBe(noBatch);
  });
});

test('a refusal says which inner tool it is for, and has the words of its entry', () => {
  const denialOf = (given: Given, args: object): unknown => {
    const decision = decide(bank, given, call('call_tool', args));
    return decision.allow ? undefined : { tool: decision.denial.tool, because: decision.denial.because };
  };
  expect(denialOf({ scope: 'read' }, calling('close_account'))).toEqual({
    tool: 'close_account',
    because: 'Only a manager closes accounts',
  });
  expect(denialOf({ scope: 'read' }, calling('transfer_funds', { amount: 1 }))).toEqual({ tool: 'transfer_funds' });
  expect(denialOf({}, calling('transfer_funds', { amount: 1 }))).toEqual({});
  expect(denialOf({ scope: 'read' }, {})).toEqual({});
});

test('a wrapper without `arguments` gives an inner tool none', () => {
  const document = { tools: { describe: { inner: { name: '/of' } }, t: { arguments: { '/a': { present: true } } } } };
  expect(told(decide(document, {}, call('describe', { of: 't', a: 1 })))).toBe(
    'deny argument.denied tools.t.arguments./a',
  );
});

test('other members of `params` are refused: the policy does not see them', () => {
  const attempt = { ...call('call_tool', calling('search')), otherMember: 'params.secureArguments' } as Attempt;
  expect(told(decide(bank, { scope: 'read' }, attempt))).toBe('deny argument.denied tools.call_tool');
});

test('a policy in shadow mode lets it pass, and says what it would refuse', () => {
  const decision = decide({ ...bank, mode: 'shadow' }, { scope: 'read' }, call('call_tool', calling('close_account')));
  expect(decision).toMatchObject({ allow: true, shadow: { reason: 'claim.denied', tool: 'close_account' } });
});

test('the inner calls are named in their order, each before its own', () => {
  const policy = compilePolicy('test', bank);
  const args = { calls: [{ name: 'call_tool', args: calling('search') }, { name: 'get_x' }] };
  expect(policy.innerCalls(call('run_batch', args)).map(calledTool)).toEqual(['call_tool', 'search', 'get_x']);
  expect(policy.innerCalls(call('search', args))).toEqual([]);
  expect(policy.innerCalls(call('run_batch', { calls: [{ name: 1 }] }))).toEqual([]);
  expect(policy.innerCalls({ kind: 'http' })).toEqual([]);
});

test('a policy says which tools call others', () => {
  const policy = compilePolicy('test', bank);
  expect(['call_tool', 'run_batch', 'search', 'other'].map((tool) => policy.callsOthers(tool))).toEqual([
    true,
    true,
    false,
    false,
  ]);
  const plain = compilePolicy('test', { tools: { search: {} } });
  expect(plain.callsOthers('search')).toBe(false);
  expect(plain.innerCalls(call('search'))).toEqual([]);
});

test('an explanation has the conditions of each inner call', () => {
  const decision = decide(bank, { scope: 'read' }, call('call_tool', calling('transfer_funds', { amount: 1001 })));
  const attempt = call('call_tool', calling('transfer_funds', { amount: 1001 }));
  const explained = explain(decision.plan, caller({ scope: 'read' }), attempt);
  expect(explained.map(({ rule, outcome, found }) => `${rule} ${outcome} ${found}`)).toEqual([
    'scope holds "read"',
    'tools.call_tool holds "call_tool"',
    'tools.call_tool.inner holds calls of "transfer_funds"',
    'tools.transfer_funds fails the inner call of "transfer_funds"',
  ]);
});

describe('mistakes', () => {
  test.each([
    [{ prompts: { p: { inner: one } } }, 'prompts.p.inner: prompts call no tools; only tools do'],
    [{ tools: { t: { inner: { name: '/a~2' } } } }, 'tools.t.inner.name: '],
  ])('%j', (document, message) => {
    expect(faultsOf(document).join('\n')).toContain(message);
  });
});

describe('rules over time', () => {
  const document: PolicyDocument = {
    tools: {
      run_batch: { inner: batch, quota: [{ count: 10, per: '1h' }] },
      read_secret: {},
      send_mail: { never_after: { tool: 'read_secret', within: '1h' } },
      pay: {
        quota: [
          { count: 2, per: '1h' },
          { sum: '/amount', at_most: 100, per: '1h' },
        ],
      },
      confirm: { after: { tool: 'pay', within: '1h' } },
      audit: { never_after: { tool: 'run_batch', within: '1h' } },
    },
  };
  const policy = compilePolicy('test', document);
  const of = (attempt: McpAttempt): CallHistory => {
    const history = historyKey.inPlan(policy.decide(alice, attempt).plan)?.of(alice, attempt);
    if (history === undefined) throw new TypeError('no history');
    return history;
  };
  const batchCall = (...calls: readonly object[]): McpAttempt => call('run_batch', { calls });

  /** Reserves calls one after the other. Each is answered. */
  function after(...calls: readonly McpAttempt[]): string[] {
    const ledger = createReviewLedger(() => 0);
    return calls.map((attempt, index) => {
      const history = of(attempt);
      const id = String(index);
      const { failed } = ledger.reserve(
        reservationOf(history, { id, principal: alice, route: 'r', continues: undefined }),
      );
      ledger.settle(id, 'answered');
      if (failed?.why !== 'check') return 'passed';
      const { rule, tool } = history.checks[failed.check]?.denial ?? {};
      return `${rule} ${tool}`;
    });
  }

  const pays = (amount: number): object => ({ name: 'pay', args: { amount } });
  const paying = (amount: number): McpAttempt => call('pay', { amount });

  test('inner calls count for quotas, all of them in one step', () => {
    expect(after(batchCall(pays(1), pays(1)), paying(1))).toEqual(['passed', 'tools.pay.quota[0] undefined']);
    expect(after(batchCall(pays(1), pays(1), pays(1)), paying(1))).toEqual(['tools.pay.quota[0] pay', 'passed']);
    expect(after(batchCall(pays(60), pays(60)), paying(100))).toEqual(['tools.pay.quota[1] pay', 'passed']);
    expect(after(batchCall(pays(60)), paying(50))).toEqual(['passed', 'tools.pay.quota[1] undefined']);
  });

  test('`never_after` sees the earlier members of the batch, and no later ones', () => {
    const [secret, mail] = [{ name: 'read_secret' }, { name: 'send_mail' }];
    expect(after(batchCall(mail, secret))).toEqual(['passed']);
    expect(after(batchCall(secret, mail))).toEqual(['tools.send_mail.never_after send_mail']);
    expect(after(batchCall(secret), batchCall(mail))).toEqual(['passed', 'tools.send_mail.never_after send_mail']);
    expect(after(batchCall({ name: 'run_batch', args: { calls: [secret] } }, mail))).toEqual([
      'tools.send_mail.never_after send_mail',
    ]);
  });

  test('`never_after` sees the tool that calls: its call began before', () => {
    expect(after(batchCall({ name: 'audit' }))).toEqual(['tools.audit.never_after audit']);
  });

  test('inner calls never meet `after`, and are under it', () => {
    const confirm = call('confirm');
    expect(after(batchCall(pays(1)), confirm)).toEqual(['passed', 'tools.confirm.after undefined']);
    expect(after(paying(1), confirm, batchCall({ name: 'confirm' }))).toEqual(['passed', 'passed', 'passed']);
    expect(after(batchCall(pays(1), { name: 'confirm' }))).toEqual(['tools.confirm.after confirm']);
  });

  test('a call of which none is counted has no history', () => {
    const none: PolicyDocument = { tools: { c: { inner: one }, search: {}, d: { quota: [{ count: 1, per: '1h' }] } } };
    const attempt = call('c', calling('search'));
    const { plan } = compilePolicy('test', none).decide(alice, attempt);
    expect(historyKey.inPlan(plan)?.of(alice, attempt)).toBeUndefined();
  });

  test('the call itself meets `after` of a later call, and of no inner one', () => {
    const wrapped: PolicyDocument = {
      tools: { c: { inner: one }, confirm: { after: { tool: 'c', within: '1h' } }, search: {} },
    };
    const ofCall = (tool: string): CallHistory | undefined => {
      const attempt = call('c', calling(tool));
      return historyKey.inPlan(compilePolicy('test', wrapped).decide(alice, attempt).plan)?.of(alice, attempt);
    };
    expect(ofCall('search')?.records).toHaveLength(1);
    const { checks = [], records } = ofCall('confirm') ?? {};
    expect(records?.map(({ track }) => track)).toEqual(checks.map(({ track }) => track));
    expect(checks[0]).not.toHaveProperty('isBroken');
  });

  test('of calls that look at the same, the first is refused', () => {
    const wrapped: PolicyDocument = {
      tools: { c: { inner: batch }, 'pay_*': { after: { tool: 'c', within: '1h', same: ['/id'] } } },
    };
    const toolsRefused = (...args: readonly object[]): readonly unknown[] => {
      const calls = args.map((each, index) => ({ name: `pay_${index}`, args: each }));
      const attempt = call('c', { calls });
      const { plan } = compilePolicy('test', wrapped).decide(alice, attempt);
      const { checks = [] } = historyKey.inPlan(plan)?.of(alice, attempt) ?? {};
      return checks.map(({ denial }) => denial.tool);
    };
    expect(toolsRefused({ id: 7 }, { id: 7 }, { id: 8 })).toEqual(['pay_0', 'pay_2']);
    expect(toolsRefused({}, {}, { id: 8 })).toEqual(['pay_0', 'pay_2']);
  });

  test('the denial of the call itself names no inner tool', () => {
    const [check] = of(batchCall(pays(1))).checks;
    expect(check?.rule).toBe('tools.run_batch.quota[0]');
    expect(check?.denial).not.toHaveProperty('tool');
  });

  test('what depends on arguments that were not recorded is named once', () => {
    const attempt: McpAttempt = { ...call('run_batch', unknownArguments), inner: ['pay', 'pay', 'confirm'] };
    expect(of(attempt).unknown).toEqual(['tools.pay.quota[1]']);
  });

  test('as one, they have the rules of all, and read all arguments', () => {
    const attempt = batchCall(pays(1), { name: 'read_secret' });
    const part = historyKey.inPlan(policy.decide(alice, attempt).plan);
    expect(part?.own.map(({ rule }) => rule)).toEqual([
      'tools.run_batch.quota[0]',
      'tools.pay.quota[0]',
      'tools.pay.quota[1]',
    ]);
    const past = ['tools.send_mail.never_after', 'tools.confirm.after', 'tools.audit.never_after'];
    expect(new Set(part?.owners.map(({ rule }) => rule))).toEqual(new Set(past));
    expect(part?.steps).toEqual([]);
    expect(part?.argumentsRead(attempt)).toEqual([[]]);
  });

  test('arguments that cannot be counted are refused as of a direct call', () => {
    const decision = policy.decide(alice, batchCall({ name: 'pay', args: { amount: '5' } }));
    expect(told(decision)).toBe('deny argument.denied tools.pay.quota[1]');
  });

  test('numbers keep their digits where JavaScript would round them', () => {
    const rounded: PolicyDocument = {
      tools: { c: { inner: one }, read: {}, send: { after: { tool: 'read', within: '1h', same: ['/id'] } } },
    };
    const exact = compilePolicy('test', rounded);
    const attempt: McpAttempt = {
      ...call('c', calling('send', { id: 9_007_199_254_740_992 })),
      exactArguments: () => calling('send', { id: 'exactly 9007199254740993' }),
    };
    const plan = exact.decide(alice, attempt).plan;
    const tracks = historyKey
      .inPlan(plan)
      ?.of(alice, attempt)
      ?.checks.map(({ track }) => track);
    expect(String(tracks)).toContain('exactly 9007199254740993');
  });

  test('and those of the call itself', () => {
    const rounded: PolicyDocument = {
      tools: { c: { inner: one, after: { tool: 'read', within: '1h', same: ['/id'] } }, read: {}, search: {} },
    };
    const attempt: McpAttempt = call('c', { ...calling('search'), id: 9_007_199_254_740_992 });
    const history = historyKey.inPlan(compilePolicy('test', rounded).decide(alice, attempt).plan);
    const exact = (): unknown => ({ id: 'exactly 9007199254740993' });
    const tracks = history?.of(alice, attempt, exact)?.checks.map(({ track }) => track);
    expect(String(tracks)).toContain('exactly 9007199254740993');
  });
});

describe('approvals', () => {
  const document: PolicyDocument = {
    tools: {
      run_batch: { inner: batch },
      search: {},
      pay: {
        approval: {
          when: { arguments: { '/amount': { above: 100 } } },
          by: { claims: { role: 'boss' } },
          shows: ['/amount'],
        },
      },
      wire: { approval: { by: { claims: { role: 'treasurer' } }, valid: '1m' } },
    },
  };
  const policy = compilePolicy('test', document);
  const needed = (...calls: readonly object[]) => {
    const attempt = call('run_batch', { calls });
    const decision: PolicyDecision = policy.decide(alice, attempt);
    return approvalsKey.inPlan(decision.plan)?.needed(alice, attempt);
  };

  test('a call needs the approvals of its inner calls, of one person who sees all arguments', () => {
    expect(needed({ name: 'search' }, { name: 'pay', args: { amount: 5 } })).toBeUndefined();
    expect(needed({ name: 'pay', args: { amount: 500 } }, { name: 'wire' })).toMatchObject({
      rules: ['tools.pay.approval', 'tools.wire.approval'],
      validMs: 60_000,
      shows: undefined,
      denial: { reason: 'approval.required', tool: 'pay' },
    });
    const boss = caller({ claims: { role: 'boss' } });
    expect(needed({ name: 'pay', args: { amount: 500 } })?.admits(boss)).toBe(true);
    expect(needed({ name: 'pay', args: { amount: 500 } }, { name: 'wire' })?.admits(boss)).toBe(false);
  });

  test('an approval of the call alone shows what its entry says, and is for no inner tool', () => {
    const approval = { by: {}, shows: ['/calls'], self: true };
    const own = compilePolicy('test', {
      tools: {
        ...document.tools,
        run_batch: { inner: batch, approval },
        ask: { approval: { ...approval, shows: [] } },
      },
    });
    const ofCalls = (...calls: readonly object[]) => {
      const attempt = call('run_batch', { calls });
      return approvalsKey.inPlan(own.decide(alice, attempt).plan)?.needed(alice, attempt);
    };
    const alone = ofCalls({ name: 'search' });
    expect(alone).toMatchObject({ rules: ['tools.run_batch.approval'], shows: ['/calls'], isShadow: false });
    expect(alone?.denial).not.toHaveProperty('tool');
    const both = ofCalls({ name: 'ask' });
    expect(both).toMatchObject({ rules: ['tools.run_batch.approval', 'tools.ask.approval'], shows: undefined });
    expect(both?.denial).not.toHaveProperty('tool');
  });

  test('arguments that were not recorded leave it open, unless one of the calls needs one in any case', () => {
    const ofTools = (...inner: readonly string[]) => {
      const attempt: McpAttempt = { ...call('run_batch', unknownArguments), inner };
      return approvalsKey.inPlan(policy.decide(alice, attempt).plan)?.needed(alice, attempt)?.isCertain;
    };
    expect([ofTools('pay'), ofTools('wire'), ofTools('wire', 'pay')]).toEqual([false, true, true]);
  });

  test('in shadow mode it is only recorded, and the claims of the caller are sealed', () => {
    const by = { claims: { tenant: { caller: 'tenant' } } };
    const shadow = compilePolicy('test', { mode: 'shadow', tools: { c: { inner: one }, pay: { approval: { by } } } });
    const attempt = call('c', calling('pay'));
    expect(approvalsKey.inPlan(shadow.decide(alice, attempt).plan)?.needed(alice, attempt)).toMatchObject({
      isShadow: true,
      asker: '{"tenant":"acme"}',
      denial: { tool: 'pay' },
    });
  });

  test('as one, the calls have the approvals of all, and a person sees all arguments', () => {
    const attempt = call('run_batch', { calls: [{ name: 'pay', args: { amount: 5 } }, { name: 'wire' }] });
    const part = approvalsKey.inPlan(policy.decide(alice, attempt).plan);
    expect(part?.approvals.map(({ rule }) => rule)).toEqual(['tools.pay.approval', 'tools.wire.approval']);
    expect(part?.steps).toEqual([]);
    expect(part?.argumentsRead(attempt)).toEqual([[]]);
  });

  test('two inner calls under one approval need it once', () => {
    const pays = { name: 'pay', args: { amount: 500 } };
    expect(needed(pays, pays)?.rules).toEqual(['tools.pay.approval']);
  });
});
