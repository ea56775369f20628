import { Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { AdmissionScheduler, type EventLoop } from '../../../../src/core/gateway/listen/admission-scheduler.ts';
import { garbageCollector } from '../../../support/small-collections.ts';

/** A loop whose turns take no time. */
const timeless: EventLoop = { now: () => 0, nextTurn: (act) => void setImmediate().then(act) };

const MIB = 1024 * 1024;
const MANY = '192.0.2.1';
const ONE = '192.0.2.2';

/** Takes `count` requests of an address at once, and notes the address of each that begins. */
function come(turns: AdmissionScheduler, address: string, count: number, begun: string[]): void {
  for (let index = 0; index < count; index += 1) turns.take(socketFrom(address), () => begun.push(address));
}

function socketFrom(address: string): Socket {
  return Object.defineProperty(new Socket(), 'remoteAddress', { value: address });
}

/** All that begin, turn by turn. */
async function turnsOf(begun: string[], total: number): Promise<string[][]> {
  const turns = [[...begun]];
  for (let known = begun.length; begun.length < total; known = begun.length) {
    await setImmediate();
    turns.push(begun.slice(known));
  }
  return turns;
}

test('one after the other begins at once', () => {
  const turns = new AdmissionScheduler();
  const begun: string[] = [];
  for (let index = 1; index <= 20; index += 1) {
    come(turns, MANY, 1, begun);
    expect(begun).toHaveLength(index);
    const until = performance.now() + 2;
    while (performance.now() < until);
  }
});

test('a lone client begins 64 requests at once, and the rest in the turns after, in order', async () => {
  const turns = new AdmissionScheduler(timeless);
  const begun: number[] = [];
  for (let index = 0; index < 150; index += 1) turns.take(socketFrom(MANY), () => begun.push(index));
  expect(begun).toHaveLength(64);
  await setImmediate();
  expect(begun).toHaveLength(128);
  turns.take(socketFrom(MANY), () => begun.push(150));
  await setImmediate();
  expect(begun).toEqual(Array.from({ length: 151 }, (_, index) => index));
});

test('a lone client begins few more once another one sends a request in the same turn', () => {
  const turns = new AdmissionScheduler(timeless);
  const begun: string[] = [];
  come(turns, MANY, 10, begun);
  come(turns, ONE, 1, begun);
  come(turns, MANY, 20, begun);
  expect(begun).toEqual([...Array<string>(10).fill(MANY), ONE, ...Array<string>(3).fill(MANY)]);
});

test('a client with one request does not wait for a client with a hundred', async () => {
  const turns = new AdmissionScheduler(timeless);
  const begun: string[] = [];
  come(turns, MANY, 100, begun);
  come(turns, ONE, 1, begun);
  const [, next] = await turnsOf(begun, 101);
  expect(next).toEqual([MANY, ONE]);
});

test('in company each begins one in a turn', async () => {
  const turns = new AdmissionScheduler(timeless);
  const begun: string[] = [];
  come(turns, ONE, 1, begun);
  come(turns, MANY, 20, begun);
  const [, ...later] = await turnsOf(begun, 21);
  expect(later.map((turn) => turn.length)).toEqual(later.map(() => 1));
});

test('many addresses that compete begin four requests in a turn', async () => {
  const turns = new AdmissionScheduler(timeless);
  const begun: string[] = [];
  for (let index = 0; index < 20; index += 1) come(turns, `192.0.2.${index}`, 1, begun);
  const [, ...later] = await turnsOf(begun, 20);
  expect(later.slice(0, -1).map((turn) => turn.length)).toEqual([4, 4, 4, 4].slice(0, later.length - 1));
  expect(later.length).toBeLessThanOrEqual(5);
});

test('a second after the others have stopped, a client is lone again', async () => {
  let now = 0;
  const turns = new AdmissionScheduler({ ...timeless, now: () => now });
  const begun: string[] = [];
  come(turns, ONE, 1, begun);
  come(turns, MANY, 1, begun);
  now = 1_000;
  come(turns, MANY, 20, begun);
  const [, ...later] = await turnsOf(begun, 22);
  expect(later.map((turn) => turn.length)).toEqual(later.map(() => 1));
  now = 1_002;
  come(turns, MANY, 20, begun);
  expect(begun).toHaveLength(42);
});

test('an IPv6 network counts as one', async () => {
  const turns = new AdmissionScheduler(timeless);
  const begun: string[] = [];
  for (let index = 1; index <= 100; index += 1) come(turns, `2001:db8::${index}`, 1, begun);
  come(turns, '2001:db8:0:1::1', 1, begun);
  const [first = [], next = []] = await turnsOf(begun, 101);
  expect([...first, ...next]).toContain('2001:db8:0:1::1');
  expect(next).toHaveLength(2);
});

test('a request that has begun is freed by the next small collection', () => {
  const collect = garbageCollector();
  const turns: (() => void)[] = [];
  const scheduler = new AdmissionScheduler({ now: () => 0, nextTurn: (act) => turns.push(act) });
  const sockets = Array.from({ length: 32 }, (_, index) => socketFrom(index < 30 ? MANY : ONE));
  const serveAll = (): void => {
    for (const socket of sockets) {
      const request = { members: Array.from({ length: 128 }, () => 0), begun: false };
      scheduler.take(socket, () => (request.begun = true));
    }
    for (let turn = turns.shift(); turn !== undefined; turn = turns.shift()) turn();
  };
  serveAll();
  collect();
  const before = process.memoryUsage().heapUsed;
  for (let collections = 0; collections < 40; collections += 1) {
    for (let times = 0; times < 50; times += 1) serveAll();
    collect({ type: 'minor' });
  }
  // All 64,000 requests together have 66 MiB.
  expect((process.memoryUsage().heapUsed - before) / MIB).toBeLessThan(20);
});
