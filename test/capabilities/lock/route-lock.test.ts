import { beforeEach, describe, expect, test } from 'vitest';
import { LockComparison } from '../../../src/capabilities/lock/comparison.ts';
import { createRouteLock, type RouteLock, type RouteLockParts } from '../../../src/capabilities/lock/locked-routes.ts';
import { definitionOf } from '../../../src/mcp/guarded-message.ts';
import { Denial } from '../../../src/core/model/denial.ts';
import type { Action } from '../../../src/core/model/grant.ts';
import { type Definition, type DefinitionKind, definitionKey } from '../../../src/mcp/definitions.ts';
import type { Lock } from '../../../src/capabilities/lock/settings.ts';
import type { McpTarget } from '../../../src/core/model/policy.ts';
import { orDenial } from '../../support/denial.ts';
import type { Route } from '../../../src/core/model/route.ts';

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
    innerCalls: () => inner.map((name) => ({ targets: [{ kind: 'tool', name }] })),
  },
} as unknown as Route;

function lockWith(mode: Lock['mode'], parts: Partial<RouteLockParts> = {}, using = comparison): RouteLock {
  return createRouteLock(route, { mode, approved }, using, {
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
