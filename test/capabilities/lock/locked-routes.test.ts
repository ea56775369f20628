import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createLockedRoutes, type LockedRoutes } from '../../../src/capabilities/lock/locked-routes.ts';
import { lockOf as lockSlot, type Lock } from '../../../src/capabilities/lock/settings.ts';
import { definitionOf, definitionsIn } from '../../../src/mcp/guarded-message.ts';
import { Denial } from '../../../src/core/model/denial.ts';
import type { Action } from '../../../src/core/model/grant.ts';
import { type Definition, definitionKey } from '../../../src/mcp/definitions.ts';
import type { Sighting } from '../../../src/capabilities/lock/comparison.ts';
import { orDenial, orReason } from '../../support/denial.ts';
import type { Route } from '../../../src/core/model/route.ts';
import { createManualTimers, type ManualTimers } from '../../support/manual-timers.ts';
import { call as toolCall } from '../../core/policy/caller.ts';

const tool = (name: string, more: object = {}): Definition => definitionOf('tool', name, { name, ...more });
const MINUTE = 60_000;
const [pay, evil] = [tool('pay'), tool('pay', { title: 'evil' })];

function lockOf(mode: Lock['mode'], ...all: readonly Definition[]): Lock {
  return { mode, approved: new Map(all.map((each) => [definitionKey(each), each])) };
}

function routeWith(lock: Lock | undefined, origin = 'http://a', path = '/mcp', name = 'tools'): Route {
  const slots = new Map(lock && [lockSlot.with(lock)]);
  return { name, slots, upstream: { origin, path }, policy: undefined } as unknown as Route;
}

let timers: ManualTimers;
let routes: LockedRoutes;
let shown: readonly Definition[] | Promise<readonly Definition[]> | Error;
let asked: string[];
let shared: (readonly [string, readonly Sighting[]])[];
let events: string[];
let fields: object[];
let counts: (number | undefined)[];

beforeEach(() => {
  [shown, asked, shared, events, fields, counts] = [[pay], [], [], [], [], []];
  timers = createManualTimers();
  routes = createLockedRoutes({
    look(url) {
      asked.push(url);
      return shown instanceof Error ? Promise.reject(shown) : Promise.resolve(shown);
    },
    share: (...all) => void shared.push(all),
    observer: {
      differing: (_, count) => void counts.push(count),
      event(level, msg, more = {}) {
        events.push(`${level}: ${msg}`);
        fields.push(more);
      },
    },
    clock: () => 1_000_000,
    timers,
    random: () => 0,
  });
});
afterEach(() => routes.close());

const call = { attempt: toolCall('pay', {}) } as unknown as Action;

/** Calls `pay` on a route. */
function callOf(route: Route): 'allowed' {
  routes.of(route)?.requireApproved(call);
  return 'allowed';
}
const outcome = (route: Route): string => orReason(() => callOf(route));

/** Puts a configuration with this route in force. */
function use(route: Route): void {
  routes.of(route);
  routes.use([route]);
}

/** The same, and what its server shows is compared. */
async function compared(route = routeWith(lockOf('deny', pay))): Promise<Route> {
  use(route);
  await timers.pass(0);
  return route;
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
  await timers.pass(0);
  expect([asked, events, counts]).toEqual([['http://a/'], ['info: definitions are compared'], [0, 0]]);
  expect(fields).toEqual([{ route: 'tools', count: 1 }]);
  expect(outcome(route)).toBe('allowed');
  expect(routes.states()).toEqual([
    { route: 'tools', mode: 'deny', comparedAt: 1_000_000, fault: undefined, count: 0, differing: [] },
  ]);
});

test('a configuration with the same lock and server keeps what was compared', async () => {
  await compared();
  const again = routeWith(lockOf('deny', pay));
  expect(outcome(again)).toBe('allowed');
  await timers.pass(MINUTE);
  routes.use([again]);
  expect(asked).toHaveLength(1);
  // It looks at once, goes on looking, and says only what is new.
  await timers.pass(0);
  expect(asked).toHaveLength(2);
  await timers.pass(5 * MINUTE);
  expect([asked.length, counts.length, events.length]).toEqual([3, 2, 1]);
});

test('a configuration with other header fields for the questions is compared anew', async () => {
  const withField = (value: string): Route => {
    const route = routeWith(lockOf('deny', pay));
    const ownFields = { addTo: (fields: string[]) => void fields.push('x-key', value) };
    return { ...route, upstream: { ...route.upstream, ownFields } } as unknown as Route;
  };
  await compared(withField('a'));
  use(withField('a'));
  await timers.pass(MINUTE);
  expect(events).toEqual(['info: definitions are compared']);
  use(withField('b'));
  expect(outcome(withField('b'))).toBe('allowed');
  await timers.pass(MINUTE);
  expect(events).toHaveLength(2);
});

test('a look does not undo what a client was shown meanwhile', async () => {
  const route = await compared();
  const held = Promise.withResolvers<readonly Definition[]>();
  shown = held.promise;
  await timers.pass(5 * MINUTE);
  routes.of(route)?.guarded(answer({ name: 'pay', title: 'evil' }));
  held.resolve([pay]);
  await timers.pass(0);
  expect([asked.length, outcome(route)]).toEqual([2, 'tool.changed']);
});

test('a call that is refused makes the gateway look again, and the next call is served', async () => {
  shown = [evil];
  const route = routeWith(lockOf('deny', pay));
  use(route);
  await timers.pass(MINUTE);
  shown = [pay];
  expect([outcome(route), outcome(route)]).toEqual(['tool.changed', 'tool.changed']);
  expect(asked).toHaveLength(1);
  await timers.pass(0);
  expect(asked).toHaveLength(2);
  expect(outcome(route)).toBe('allowed');
});

test('a call that is refused under an earlier configuration makes the newest look', async () => {
  const before = routeWith(lockOf('deny', pay));
  const old = routes.of(before);
  use(routeWith(lockOf('deny', pay), 'http://b'));
  shown = new Error('ECONNREFUSED');
  await timers.pass(MINUTE);
  const looks = asked.length;
  expect(() => old?.requireApproved(call)).toThrow(Denial);
  await timers.pass(0);
  expect(asked.slice(looks)).toEqual(['http://b/mcp']);
});

test('another lock is compared at once with what the server showed', async () => {
  shown = [evil];
  await compared();
  expect(outcome(routeWith(lockOf('deny', pay)))).toBe('tool.changed');
  const approved = routeWith(lockOf('deny', evil));
  expect(outcome(approved)).toBe('allowed');
  routes.use([approved]);
  expect(counts.at(-1)).toBe(0);
  await timers.pass(0);
  expect(asked).toHaveLength(2);
});

test('another server was never compared, and the one before is no longer asked', async () => {
  await compared();
  const other = routeWith(lockOf('deny', pay), 'http://b');
  expect(outcome(other)).toBe('lock.unverified');
  use(other);
  await timers.pass(10 * MINUTE);
  expect(asked).toEqual(['http://a/mcp', 'http://b/mcp', 'http://b/mcp', 'http://b/mcp']);
  routes.close();
  await timers.pass(10 * MINUTE);
  expect(asked).toHaveLength(4);
});

test.for([
  ['answers', () => Promise.resolve([evil])],
  ['fails', () => Promise.reject(new Error('late'))],
] as const)('a look of an earlier configuration that %s late says nothing', async ([, end]) => {
  const held = Promise.withResolvers<void>();
  shown = held.promise.then(end);
  await compared();
  shown = [pay];
  use(routeWith(undefined));
  held.resolve();
  await timers.pass(0);
  expect([events, counts]).toEqual([[], [0, undefined]]);
});

test('a configuration that was not put in force changes nothing', async () => {
  await compared();
  routes.of(routeWith(lockOf('report', evil), 'http://b'));
  expect(routes.states()).toMatchObject([{ mode: 'deny' }]);
  routes.of(routeWith(lockOf('deny', pay), 'http://b', '/mcp', 'other'));
  routes.of(routeWith(undefined));
  const third = routeWith(lockOf('deny', pay), 'http://c', '/mcp', 'third');
  routes.of(third);
  routes.use([routeWith(undefined), third]);
  expect(routes.states().map(({ route }) => route)).toEqual(['third']);
  expect([asked, counts]).toEqual([['http://a/mcp'], [0, 0, undefined, 0]]);
});

test('logs an outage once, and its end', async () => {
  shown = new Error('ECONNREFUSED');
  const route = await compared();
  expect(events).toEqual(['warn: definitions cannot be compared']);
  expect(fields).toEqual([{ route: 'tools', reason: 'ECONNREFUSED' }]);
  expect(orDenial(() => callOf(route))).toMatchObject({
    reason: 'lock.unverified',
    rule: 'lock',
    retryAfterSeconds: 1,
  });
  await timers.pass(1000);
  expect(asked).toHaveLength(2);
  expect(routes.states()).toMatchObject([{ comparedAt: undefined, fault: 'ECONNREFUSED' }]);
  shown = [pay];
  await timers.pass(2000);
  expect(events).toEqual(['warn: definitions cannot be compared', 'info: definitions are compared']);
  expect(routes.states()).toMatchObject([{ fault: undefined }]);
  shown = new Error('ECONNRESET');
  await timers.pass(5 * MINUTE);
  shown = [pay];
  await timers.pass(1000);
  expect(events.slice(2)).toEqual(['warn: definitions cannot be compared', 'info: definitions are compared']);
});

test('names the first twenty differences', async () => {
  shown = Array.from({ length: 25 }, (_, index) => tool(`t${index}`));
  await compared(routeWith(lockOf('report')));
  const names = Array.from({ length: 20 }, (_, index) => `t${index}`);
  const differences = names.map((name) => `tool "${name}" is new`);
  expect(fields.at(-1)).toEqual({ route: 'tools', mode: 'report', count: 25, differences });
  expect(routes.states()).toMatchObject([{ count: 25 }]);
  expect(routes.states()[0]?.differing.map(({ name }) => name)).toEqual(names);
  shown = [];
  await timers.pass(5 * MINUTE);
  expect(routes.states()).toMatchObject([{ count: 0 }]);
  const gone = names.map((name) => `tool "${name}" is gone`);
  expect([events.at(-1), fields.at(-1)]).toEqual(['info: definitions are as approved again', { route: 'tools', gone }]);
  expect(counts.at(-1)).toBe(0);
});

test.for(['deny', 'report'] as const)('under %s a whole list without a new tool ends the difference', async (mode) => {
  const before = await compared(routeWith(lockOf(mode, pay)));
  const [newTool, other] = [{ name: 'exfiltrate' }, { name: 'other' }];
  routes.of(before)?.guarded(answer({ name: 'pay' }, newTool, other), 'tool');
  expect([counts.at(-1), fields.at(-1)]).toMatchObject([2, { count: 2 }]);
  routes.use([before]);

  const lock = routes.of(before);
  // A page, and the answer to anything else, tell nothing of what they lack.
  lock?.guarded(JSON.stringify({ result: { tools: [{ name: 'pay' }], nextCursor: '1' } }), 'tool');
  lock?.guarded(answer({ name: 'pay' }));
  lock?.guarded(answer({ name: 'pay' }), 'prompt');
  expect(counts.at(-1)).toBe(2);

  lock?.guarded(answer({ name: 'pay' }, other), 'tool');
  expect([counts.at(-1), events.at(-1)]).toEqual([1, 'warn: definitions differ from the lock']);
  expect(fields.at(-1)).toEqual({
    route: 'tools',
    mode,
    count: 1,
    differences: ['tool "other" is new'],
    gone: ['tool "exfiltrate" is gone'],
  });
  lock?.guarded(answer({ name: 'pay' }), 'tool');
  expect([counts.at(-1), events.at(-1)]).toEqual([0, 'info: definitions are as approved again']);
  expect(fields.at(-1)).toEqual({ route: 'tools', gone: ['tool "other" is gone'] });
  expect(shared.at(-1)).toMatchObject(['tools', [{ definition: { name: 'other' }, isGone: true }]]);
});

test('ends the difference that another process no longer sees', async () => {
  shown = [pay, tool('exfiltrate')];
  await compared();
  expect(counts.at(-1)).toBe(1);
  routes.adopt('tools', [{ definition: tool('exfiltrate'), isTwice: false, isGone: true }]);
  expect(counts.at(-1)).toBe(0);
  expect(fields.at(-1)).toEqual({ route: 'tools', gone: ['tool "exfiltrate" is gone'] });
});

test('looks soon when the server announces a change, but not for a configuration that is not in force', async () => {
  const announcement = '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}';
  const route = routeWith(lockOf('deny', pay));
  routes.of(route)?.guarded(announcement);
  await timers.pass(MINUTE);
  expect(asked).toEqual([]);
  routes.use([route]);
  await timers.pass(MINUTE);
  const before = asked.length;
  routes.of(route)?.guarded(announcement);
  await timers.pass(0);
  expect(asked).toHaveLength(before + 1);
});

test('shares what it saw, and adopts what others saw', async () => {
  const route = await compared();
  expect(shared).toEqual([['tools', [{ definition: pay, isTwice: false }]]]);
  await timers.pass(5 * MINUTE);
  expect(shared).toHaveLength(1);
  shared.length = 0;
  const lock = routes.of(route);
  expect(lock?.guarded(answer({ name: 'pay', title: 'evil' }))).toBe(answer());
  expect(shared).toEqual([['tools', [{ definition: evil, isTwice: false }]]]);
  expect(outcome(route)).toBe('tool.changed');
  lock?.guarded(answer({ name: 'pay', title: 'evil' }));
  expect(shared).toHaveLength(1);

  routes.use([route]);
  routes.adopt('tools', [{ definition: pay, isTwice: false }]);
  routes.adopt('tools', [{ definition: pay, isTwice: false }]);
  expect(outcome(route)).toBe('allowed');
  routes.adopt('tools', [{ definition: evil, isTwice: false }]);
  expect(outcome(route)).toBe('tool.changed');
  expect(routes.seen()).toEqual([['tools', [{ definition: evil, isTwice: false }]]]);
  routes.adopt('gone', [{ definition: evil, isTwice: false }]);
  expect(shared).toHaveLength(1);
  expect(counts).toEqual([0, 0, 1, 0, 1]);
  expect(fields.at(-2)).toEqual({ route: 'tools' });
  const [differ, again] = ['warn: definitions differ from the lock', 'info: definitions are as approved again'];
  expect(events).toEqual(['info: definitions are compared', differ, again, differ]);
});

test('what passes under the lock of an earlier configuration counts for the newest one', async () => {
  const before = await compared();
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
  // Nor has a route that is gone.
  use(routeWith(undefined));
  counts.length = 0;
  old?.guarded(answer({ name: 'pay', title: 'evil' }));
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
  expect(fields.at(-1)).toEqual({ route: 'tools', detail: expect.stringMatching(/./) });
  expect(lock?.mode).toBe('report');
});

describe('calls: strict', () => {
  const withSchema = (name: string, length: number): Definition => {
    const inputSchema = { type: 'object', description: 'x'.repeat(length) };
    return definitionsIn('tool', [{ name, inputSchema }])[0] as Definition;
  };
  const strictRoute = (name: string, ...all: readonly Definition[]): Route =>
    routeWith({ ...lockOf('deny', ...all), isStrict: true }, `http://${name}`, '/mcp', name);

  test('the schemas of all servers of a process have one limit, and a server that is gone makes room', async () => {
    const large = Array.from({ length: 70 }, (_, at) => withSchema(at === 0 ? 'pay' : `t${at}`, 240 * 1024));
    const [first, second] = [strictRoute('first', ...large), strictRoute('second', withSchema('pay', 100_000))];
    shown = large;
    await compared(first);
    routes.of(first);
    routes.of(second);
    shown = [withSchema('pay', 100_000)];
    routes.use([first, second]);
    await timers.pass(0);
    expect([outcome(first), outcome(second)]).toEqual(['allowed', 'tool.changed']);
    use(second);
    await timers.pass(MINUTE);
    expect(outcome(second)).toBe('allowed');
  });

  test('the number of schemas of all servers has a limit too', async () => {
    const many = Array.from({ length: 5000 }, (_, at) => withSchema(at === 0 ? 'pay' : `t${at}`, 0));
    const [first, second] = [strictRoute('first', ...many), strictRoute('second', withSchema('pay', 1))];
    shown = many;
    await compared(first);
    routes.of(first);
    routes.of(second);
    shown = [withSchema('pay', 1)];
    routes.use([first, second]);
    await timers.pass(0);
    expect([outcome(first), outcome(second)]).toEqual(['allowed', 'tool.changed']);
  });

  test('servers whose calls are not judged leave all the room', async () => {
    shown = [withSchema('pay', 1)];
    const plain = routeWith(lockOf('deny', ...shown), 'http://plain', '/mcp', 'plain');
    const strict = strictRoute('strict', ...shown);
    routes.of(plain);
    routes.of(strict);
    routes.use([plain, strict]);
    await timers.pass(0);
    expect([outcome(plain), outcome(strict)]).toEqual(['allowed', 'allowed']);
  });

  test('schemas that were not approved are neither kept nor told to other processes', async () => {
    shown = [withSchema('pay', 1_000_000), withSchema('new', 1_000_000)];
    await compared(strictRoute('tools', withSchema('pay', 10)));
    const told = shared.flatMap(([, sightings]) => sightings);
    expect(told).toHaveLength(2);
    expect(JSON.stringify(told).length).toBeLessThan(1_000);
  });
});
