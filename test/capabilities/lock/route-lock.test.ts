import { beforeEach, describe, expect, test } from 'vitest';
import { LockComparison } from '../../../src/capabilities/lock/comparison.ts';
import {
  createRouteLock,
  onLockedRoute,
  type RouteLock,
  type RouteLockParts,
} from '../../../src/capabilities/lock/locked-routes.ts';
import { StrictCalls } from '../../../src/capabilities/lock/strict-calls.ts';
import { definitionOf, definitionsIn } from '../../../src/mcp/guarded-message.ts';
import type { Call } from '../../../src/core/model/call.ts';
import { Denial } from '../../../src/core/model/denial.ts';
import type { Action, Grant } from '../../../src/core/model/grant.ts';
import { type Definition, type DefinitionKind, definitionKey } from '../../../src/mcp/definitions.ts';
import type { Lock } from '../../../src/capabilities/lock/settings.ts';
import type { McpTarget } from '../../../src/core/model/policy.ts';
import { orDenial } from '../../support/denial.ts';
import type { Route } from '../../../src/core/model/route.ts';
import { call as toolCall, message } from '../../core/policy/caller.ts';

const definition = (kind: DefinitionKind, name: string, more: object = {}): Definition =>
  definitionOf(kind, name, { name, ...more });
const [pay, plan] = [definition('tool', 'pay'), definition('prompt', 'plan')];
const evil = { name: 'pay', title: 'evil' };
const approved = new Map([pay, plan].map((each) => [definitionKey(each), each]));

let comparison: LockComparison;
let noted: number;
let asked: number;
let unreadable: string[];
beforeEach(() => {
  comparison = new LockComparison(approved);
  [noted, asked, unreadable] = [0, 0, []];
  inner = [];
});

let inner: readonly string[] = [];
const route = {
  policy: {
    because: ({ kind, name }: McpTarget) => `Ask for the ${kind} ${name}.`,
    innerCalls: () => inner.map((name) => toolCall(name, {})),
    callsOthers: () => false,
  },
} as unknown as Route;

function lockWith(
  mode: Lock['mode'],
  parts: Partial<RouteLockParts> = {},
  using = comparison,
  lock: Pick<Lock, 'approved'> = { approved },
): RouteLock {
  return createRouteLock(route, { mode, ...lock }, using, {
    noted: () => (noted += 1),
    lookSoon: () => (asked += 1),
    unreadable: (detail) => unreadable.push(detail),
    untilNextMs: () => 2500,
    ...parts,
  });
}

const calling = (...targets: readonly McpTarget[]): Action =>
  ({ attempt: { kind: 'mcp', method: 'x', targets, arguments: {} } }) as unknown as Action;
const listing = (...tools: readonly unknown[]): string => JSON.stringify({ result: { tools } });

/** The refusal of a call; undefined if it is allowed. */
const denialOf = (lock: RouteLock, action: Action): unknown => orDenial(() => lock.requireApproved(action));

describe('a call', () => {
  const [tool, prompt] = [
    { kind: 'tool', name: 'pay' },
    { kind: 'prompt', name: 'plan' },
  ] as const;

  test('before the first comparison may try again at the next look', () => {
    for (const target of [tool, prompt]) {
      expect(denialOf(lockWith('deny'), calling(target))).toMatchObject({
        reason: 'lock.unverified',
        rule: 'lock',
        retryAfterSeconds: 2.5,
      });
    }
  });

  test('of what differs is refused with the words of the policy', () => {
    comparison.look([definition('tool', 'pay', { title: 'evil' }), definition('prompt', 'plan', { title: 'evil' })]);
    expect(denialOf(lockWith('deny'), calling(tool))).toMatchObject({
      reason: 'tool.changed',
      detail: 'wanted the tool as it was approved: title changed',
      rule: 'lock',
      because: 'Ask for the tool pay.',
    });
    expect(denialOf(lockWith('deny'), calling(prompt))).toMatchObject({ reason: 'prompt.changed' });
    comparison.look([pay, plan]);
    expect(denialOf(lockWith('deny'), calling(tool, prompt))).toBeUndefined();
    expect(denialOf(lockWith('deny'), calling(tool, { kind: 'tool', name: 'new' }))).toMatchObject({
      reason: 'tool.changed',
    });
  });

  test('that is refused makes the gateway look soon, unless a look cannot change the verdict', () => {
    denialOf(lockWith('deny'), calling(tool));
    expect(asked).toBe(1);
    comparison.look([definition('tool', 'pay', { title: 'evil' }), plan, plan]);
    denialOf(lockWith('deny'), calling(tool));
    denialOf(lockWith('deny'), calling(prompt));
    expect(asked).toBe(3);
    denialOf(lockWith('deny'), calling({ kind: 'tool', name: 'new' }));
    comparison.look([pay, plan]);
    denialOf(lockWith('deny'), calling(tool, prompt));
    expect(asked).toBe(3);
  });

  test('of a tool that calls others needs each of them as approved, but for those that the server hides', () => {
    inner = ['hidden'];
    expect(denialOf(lockWith('deny'), calling())).toMatchObject({
      reason: 'lock.unverified',
      data: { tool: 'hidden' },
    });
    comparison.look([pay, plan, definition('tool', 'new')]);
    expect(denialOf(lockWith('deny'), calling(tool))).toBeUndefined();
    inner = ['pay'];
    expect(denialOf(lockWith('deny'), calling())).toBeUndefined();
    inner = ['hidden', 'new'];
    expect(denialOf(lockWith('deny'), calling())).toMatchObject({
      reason: 'tool.changed',
      because: 'Ask for the tool new.',
      data: { tool: 'new' },
    });
    inner = ['x'.repeat(257)];
    expect(denialOf(lockWith('deny'), calling())).toMatchObject({ reason: 'tool.changed' });
    inner = ['hidden'];
    comparison.look([pay, plan, ...Array.from({ length: 1001 }, (_, index) => definition('tool', `new_${index}`))]);
    expect(denialOf(lockWith('deny'), calling())).toMatchObject({ reason: 'tool.changed' });
    comparison.look([definition('tool', 'pay', { title: 'evil' }), plan]);
    inner = ['pay'];
    expect(denialOf(lockWith('deny'), calling())).toMatchObject({ reason: 'tool.changed', data: { tool: 'pay' } });
  });

  test('before the first comparison says when the look comes that it caused', () => {
    let untilNextMs = 300_000;
    const lock = lockWith('deny', { lookSoon: () => (untilNextMs = 10_000), untilNextMs: () => untilNextMs });
    expect(denialOf(lock, calling(tool))).toMatchObject({ retryAfterSeconds: 10 });
  });

  test('of what no lock covers passes', () => {
    const uri = { kind: 'resource', name: 'file:///x' } as const;
    expect(denialOf(lockWith('deny'), calling(uri))).toBeUndefined();
    expect(denialOf(lockWith('deny'), { attempt: { kind: 'http' } } as Action)).toBeUndefined();
    expect(denialOf(lockWith('report'), calling(tool))).toBeUndefined();
  });
});

describe('an answer', () => {
  test('under deny loses what differs, and what is no definition', () => {
    const lock = lockWith('deny');
    expect(lock.guarded(listing(5, { name: 'pay' }, { title: 'no name' }))).toBe(listing({ name: 'pay' }));
    expect(lock.guarded(listing(evil))).toBe(listing());
    expect(noted).toBe(2);
    expect(lock.guarded(listing(evil))).toBe(listing());
    expect(noted).toBe(2);
  });

  test('under deny that cannot be compared is refused', () => {
    expect(() => lockWith('deny').guarded('{"result":1,"result":2}')).toThrow(Denial);
  });

  test('under report does not hide a bug', () => {
    const broken = Object.assign(new LockComparison(approved), {
      pass() {
        throw new TypeError('a bug');
      },
    });
    expect(() => lockWith('report', {}, broken).guarded(listing(evil))).toThrow('a bug');
  });

  test('that announces a change makes the gateway look soon', () => {
    lockWith('deny').guarded('{"jsonrpc":"2.0","method":"notifications/prompts/list_changed"}');
    expect(asked).toBe(1);
  });
});

const callOf = (name: string, args: object = {}): Action =>
  ({ attempt: toolCall(name, args), messageId: 1 }) as unknown as Action;
const callResult = (structuredContent: unknown): string =>
  JSON.stringify({ id: 1, result: { content: [], structuredContent } });
const [typedPay, typedRead] = definitionsIn('tool', [
  {
    name: 'pay',
    inputSchema: { type: 'object', properties: { amount: {} }, required: ['amount'] },
    outputSchema: { required: ['sum'] },
  },
  { name: 'read', inputSchema: { type: 'object' } },
]) as [Definition, Definition];

/** A lock with `calls: strict` on both tools, whose server showed these. */
function strictLock(mode: Lock['mode'], ...shown: readonly Definition[]): RouteLock {
  const both = new Map([typedPay, typedRead].map((each) => [definitionKey(each), each]));
  const strict = new LockComparison(both, new StrictCalls());
  strict.look(shown);
  return lockWith(mode, {}, strict, { approved: both });
}

describe('with calls: strict', () => {
  test('a lock says that it is', () => {
    expect([strictLock('deny').isStrict, lockWith('deny').isStrict]).toEqual([true, false]);
  });

  test('a lock judges the results of tools with an output schema, and of no other', () => {
    const lock = strictLock('deny', typedPay, typedRead);
    expect([lock.judges(callOf('pay')), lock.judges(callOf('read'))]).toEqual([true, false]);
    expect(lockWith('deny').judges(callOf('pay'))).toBe(false);
  });

  test('a call needs arguments as the schema says', () => {
    const lock = strictLock('deny', typedPay, typedRead);
    expect(denialOf(lock, callOf('pay', { amount: 5 }))).toBeUndefined();
    expect(denialOf(lock, callOf('pay'))).toMatchObject({ reason: 'arguments.invalid', rule: 'calls' });
    expect(denialOf(strictLock('report', typedPay, typedRead), callOf('pay'))).toBeUndefined();
  });

  test('a call whose schema was not seen is refused until the next look', () => {
    const denial = denialOf(strictLock('deny', typedRead), callOf('pay', { amount: 5 }));
    expect(denial).toMatchObject({ reason: 'lock.unverified', rule: 'lock', retryAfterSeconds: 2.5 });
    expect(denial).not.toHaveProperty('data.tool');
    expect(asked).toBe(1);
  });

  test('an inner call needs a schema that was seen, but for a tool that the server hides', () => {
    const lock = strictLock('deny', typedPay);
    const outer = callOf('pay', { amount: 5 });
    inner = ['hidden'];
    expect(denialOf(lock, outer)).toBeUndefined();
    inner = ['read'];
    expect(denialOf(lock, outer)).toMatchObject({ reason: 'lock.unverified', data: { tool: 'read' } });
    expect(denialOf(strictLock('deny', typedPay, typedRead), outer)).toBeUndefined();
  });

  test('under deny a result needs what its tool announces, and lists lose what was not approved', () => {
    const lock = strictLock('deny', typedPay, typedRead);
    const guarded = (text: string) => orDenial(() => lock.guarded(text, undefined, callOf('pay')));
    expect(guarded(callResult({ sum: 5 }))).toBeUndefined();
    expect(guarded(callResult({}))).toMatchObject({ reason: 'upstream.invalid' });
    expect(guarded(JSON.stringify({ id: 2, result: { tools: [evil] } }))).toBe(
      JSON.stringify({ id: 2, result: { tools: [] } }),
    );
  });

  test('under report, for no call, and without strict no result is judged', () => {
    const report = strictLock('report', typedPay, typedRead);
    expect(report.guarded(callResult({}), undefined, callOf('pay'))).toBeUndefined();
    expect(unreadable).toEqual([]);
    expect(strictLock('deny', typedPay, typedRead).guarded(callResult({}))).toBeUndefined();
    expect(lockWith('deny').guarded(callResult({}), undefined, callOf('pay'))).toBeUndefined();
  });
});

describe('a route with a lock', () => {
  test('reads all arguments and judges results only with calls: strict', () => {
    const [strict, plain] = [onLockedRoute(strictLock('deny', typedPay, typedRead)), onLockedRoute(lockWith('deny'))];
    expect(strict.readsArguments).toBe(true);
    expect([strict.answers?.judges?.(callOf('pay')), strict.answers?.judges?.(callOf('read'))]).toEqual([true, false]);
    expect([plain.readsArguments, plain.answers?.judges]).toEqual([undefined, undefined]);
  });

  test('guards answers under deny, and only reads them under report', () => {
    const does = (['deny', 'report'] as const).map((mode) => onLockedRoute(lockWith(mode)).answers?.does);
    expect(does).toEqual(['guards', 'reads']);
  });

  test('requires what was approved of each call, and again of one whose stream is open', () => {
    const { gate } = onLockedRoute(lockWith('deny'));
    const grant = { action: callOf('pay') } as unknown as Grant;
    const reasons = [() => gate?.enter({} as Call, grant), () => gate?.reconsider?.(grant)].map((each) =>
      orDenial(each),
    );
    expect(reasons).toMatchObject([{ reason: 'lock.unverified' }, { reason: 'lock.unverified' }]);
    comparison.look([pay, plan]);
    expect([gate?.enter({} as Call, grant), gate?.reconsider?.(grant)]).toEqual([undefined, undefined]);
  });

  test('takes definitions out of answers, and knows a whole list by what the client asked for', () => {
    const { answers } = onLockedRoute(lockWith('deny'));
    const body = Buffer.from('{"method":"tools/list","params":{}}');
    const list = { attempt: message('tools/list'), body } as unknown as Action;
    expect(answers?.take(listing({ name: 'pay' }, { name: 'new' }), list)).toBe(listing({ name: 'pay' }));
    expect(comparison.differing()).toMatchObject([{ name: 'new' }]);
    answers?.take(listing({ name: 'pay' }), list);
    expect(comparison.differing()).toEqual([]);
  });

  test('judges what it takes by the call that is answered', () => {
    const { answers } = onLockedRoute(strictLock('deny', typedPay, typedRead));
    expect(orDenial(() => answers?.take(callResult({}), callOf('pay')))).toMatchObject({ reason: 'upstream.invalid' });
    expect(answers?.take(callResult({}), callOf('read'))).toBeUndefined();
  });
});
