import { afterEach, beforeEach, expect, test } from 'vitest';
import { createLockedRoutes, type LockedRoutes } from '../../src/lock/locked-routes.ts';
import { definitionOf } from '../../src/mcp/definition.ts';
import { Denial } from '../../src/model/denial.ts';
import type { Action } from '../../src/model/grant.ts';
import { type Definition, definitionKey, type Lock, type Sighting } from '../../src/model/lock.ts';
import type { Route } from '../../src/model/route.ts';
import { until } from '../support/until.ts';

const tool = (name: string, more: object = {}): Definition => definitionOf('tool', name, { name, ...more });
const [pay, evil] = [tool('pay'), tool('pay', { title: 'evil' })];

function lockOf(mode: Lock['mode'], ...all: readonly Definition[]): Lock {
  return { mode, approved: new Map(all.map((each) => [definitionKey(each), each])) };
}

function routeWith(lock: Lock | undefined, origin = 'http://a', path = '/mcp'): Route {
  return { name: 'tools', lock, upstream: { origin, path }, policy: undefined } as unknown as Route;
}

let routes: LockedRoutes;
let shown: readonly Definition[] | Error;
let asked: string[];
let shared: (readonly [string, readonly Sighting[]])[];
let events: string[];
let counts: (number | undefined)[];

beforeEach(() => {
  [shown, asked, shared, events, counts] = [[pay], [], [], [], []];
  routes = createLockedRoutes({
    look(url) {
      asked.push(url);
      return shown instanceof Error ? Promise.reject(shown) : Promise.resolve(shown);
    },
    share: (...all) => void shared.push(all),
    observer: {
      differing: (_, count) => void counts.push(count),
      event: (level, msg) => void events.push(`${level}: ${msg}`),
    },
    clock: () => 1_000_000,
  });
});
afterEach(() => routes.close());

const call: Action = {
  attempt: { kind: 'mcp', method: 'tools/call', targets: [{ kind: 'tool', name: 'pay' }], arguments: {} },
} as unknown as Action;

/** What becomes of a call of `pay` on a route. */
function outcome(route: Route): string {
  try {
    routes.of(route)?.requireApproved(call);
    return 'allowed';
  } catch (error) {
    return error instanceof Denial ? error.reason : String(error);
  }
}

/** Puts a configuration with this route in force. */
function use(route: Route): void {
  routes.of(route);
  routes.use([route]);
}

const answer = (...tools: readonly unknown[]): string => JSON.stringify({ result: { tools } });

test('a route without lock has none, and nothing is asked', () => {
  expect(routes.of(routeWith(undefined))).toBeUndefined();
  routes.use([routeWith(undefined)]);
  expect([asked, counts, routes.states()]).toEqual([[], [], []]);
});

test('asks the server of a route, and says when it did', async () => {
  const route = routeWith(lockOf('deny', pay), 'http://a', '');
  use(route);
  expect(outcome(route)).toBe('lock.unverified');
  await until(() => events.length > 0);
  expect([asked, events, counts]).toEqual([['http://a/'], ['info: definitions are compared'], [0, 0]]);
  expect(outcome(route)).toBe('allowed');
  expect(routes.states()).toEqual([
    { route: 'tools', mode: 'deny', comparedAt: 1_000_000, fault: undefined, count: 0, differing: [] },
  ]);
});

test('a configuration with the same lock and server keeps what was compared', async () => {
  use(routeWith(lockOf('deny', pay)));
  await until(() => events.length > 0);
  const again = routeWith(lockOf('deny', pay));
  expect(outcome(again)).toBe('allowed');
  routes.use([again]);
  expect(asked).toHaveLength(1);
});

test('another lock is compared at once with what the server showed', async () => {
  shown = [evil];
  use(routeWith(lockOf('deny', pay)));
  await until(() => events.length > 1);
  expect(outcome(routeWith(lockOf('deny', pay)))).toBe('tool.changed');
  const approved = routeWith(lockOf('deny', evil));
  expect(outcome(approved)).toBe('allowed');
  routes.use([approved]);
  expect(counts.at(-1)).toBe(0);
  await until(() => asked.length === 2);
});

test('another server was never compared', async () => {
  use(routeWith(lockOf('deny', pay)));
  await until(() => events.length > 0);
  expect(outcome(routeWith(lockOf('deny', pay), 'http://b'))).toBe('lock.unverified');
});

test('a configuration that was not put in force changes nothing', async () => {
  use(routeWith(lockOf('deny', pay)));
  await until(() => events.length > 0);
  routes.of(routeWith(lockOf('report', evil), 'http://b'));
  expect(routes.states()).toMatchObject([{ mode: 'deny' }]);
  routes.of(routeWith(undefined));
  routes.use([routeWith(undefined)]);
  expect([asked, routes.states(), counts.at(-1)]).toEqual([['http://a/mcp'], [], undefined]);
});

test('logs an outage once, and its end', async () => {
  shown = new Error('ECONNREFUSED');
  use(routeWith(lockOf('deny', pay)));
  await until(() => asked.length === 2);
  expect(routes.states()).toMatchObject([{ comparedAt: undefined, fault: 'ECONNREFUSED' }]);
  shown = [pay];
  await until(() => events.length === 2);
  expect(events).toEqual(['warn: definitions cannot be compared', 'info: definitions are compared']);
  expect(routes.states()).toMatchObject([{ fault: undefined }]);
}, 15_000);

test('shares what passed, and adopts what passed elsewhere', async () => {
  const route = routeWith(lockOf('deny', pay));
  use(route);
  await until(() => events.length > 0);
  expect(shared).toEqual([]);
  const lock = routes.of(route);
  expect(lock?.guarded(answer({ name: 'pay', title: 'evil' }))).toBe(answer());
  expect(shared).toEqual([['tools', [{ definition: evil, isTwice: false }]]]);
  expect(outcome(route)).toBe('tool.changed');
  lock?.guarded(answer({ name: 'pay', title: 'evil' }));
  expect(shared).toHaveLength(1);

  routes.use([route]);
  routes.adopt('tools', [{ definition: pay, isTwice: false }]);
  expect(outcome(route)).toBe('allowed');
  routes.adopt('tools', [{ definition: evil, isTwice: false }]);
  expect(outcome(route)).toBe('tool.changed');
  routes.adopt('gone', [{ definition: evil, isTwice: false }]);
  expect(shared).toHaveLength(1);
  expect(counts).toEqual([0, 0, 1, 0, 1]);
  const [differ, again] = ['warn: definitions differ from the lock', 'info: definitions are as approved again'];
  expect(events).toEqual(['info: definitions are compared', differ, again, differ]);
});

test('what passes under the lock of an earlier configuration counts for the newest one', async () => {
  const before = routeWith(lockOf('deny', pay));
  use(before);
  await until(() => events.length > 0);
  const old = routes.of(before);
  routes.use([before]);
  const newest = routeWith(lockOf('deny', pay, tool('read')));
  use(newest);
  counts.length = 0;
  old?.guarded(answer({ name: 'pay', title: 'evil' }));
  expect(outcome(newest)).toBe('tool.changed');
  expect(counts).toEqual([1]);
  // Another server has nothing to do with it.
  use(routeWith(lockOf('deny', pay), 'http://b'));
  counts.length = 0;
  old?.guarded(answer({ name: 'pay' }));
  expect(counts).toEqual([]);
});

test('under report nothing is refused, changed or thrown', async () => {
  const route = routeWith(lockOf('report', pay));
  use(route);
  const lock = routes.of(route);
  expect(lock?.guarded(answer({ name: 'pay', title: 'evil' }))).toBeUndefined();
  expect(outcome(route)).toBe('allowed');
  expect(lock?.guarded('no JSON')).toBeUndefined();
  expect(events).toEqual(['warn: definitions differ from the lock']);
  expect(lock?.guarded('{"result":1,"result":2}')).toBeUndefined();
  expect(events.at(-1)).toBe('warn: an answer cannot be compared with the lock');
  expect(lock?.mode).toBe('report');
});
