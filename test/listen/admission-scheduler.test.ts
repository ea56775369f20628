import { Socket } from 'node:net';
import { setImmediate, setTimeout } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createAdmissionScheduler, type AdmissionScheduler } from '../../src/listen/admission-scheduler.ts';

const MANY = '192.0.2.1';
const ONE = '192.0.2.2';

/** As many as come at once; tells who has begun, in order. */
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
  const turns = createAdmissionScheduler();
  const begun: string[] = [];
  for (let index = 1; index <= 20; index += 1) {
    come(turns, MANY, 1, begun);
    expect(begun).toHaveLength(index);
    const until = performance.now() + 2;
    while (performance.now() < until);
  }
});

test('of many at once few begin, and the rest in the turns after, in order', async () => {
  const turns = createAdmissionScheduler(3);
  const begun: number[] = [];
  for (let index = 0; index < 8; index += 1) turns.take(socketFrom(MANY), () => begun.push(index));
  expect(begun).toEqual([0, 1, 2]);
  await setImmediate();
  expect(begun).toHaveLength(6);
  turns.take(socketFrom(MANY), () => begun.push(8));
  await setImmediate();
  expect(begun).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8]);
});

test('a client with one request does not wait for a client with a hundred', async () => {
  const turns = createAdmissionScheduler();
  const begun: string[] = [];
  come(turns, MANY, 100, begun);
  come(turns, ONE, 1, begun);
  const [, next] = await turnsOf(begun, 101);
  expect(next).toEqual([MANY, ONE]);
});

test('in company each begins one in a turn', async () => {
  const turns = createAdmissionScheduler();
  const begun: string[] = [];
  come(turns, ONE, 1, begun);
  come(turns, MANY, 20, begun);
  const [, ...later] = await turnsOf(begun, 21);
  expect(later.map((turn) => turn.length)).toEqual(later.map(() => 1));
});

test('many addresses together begin as many in a turn as one that is alone', async () => {
  const turns = createAdmissionScheduler(4);
  const begun: string[] = [];
  for (let index = 0; index < 20; index += 1) come(turns, `192.0.2.${index}`, 1, begun);
  const [, ...later] = await turnsOf(begun, 20);
  expect(later.slice(0, -1).map((turn) => turn.length)).toEqual([4, 4, 4, 4].slice(0, later.length - 1));
  expect(later.length).toBeLessThanOrEqual(5);
});

test('a while after the others it is alone again', async () => {
  const turns = createAdmissionScheduler(4);
  const begun: string[] = [];
  come(turns, ONE, 1, begun);
  come(turns, MANY, 1, begun);
  await turnsOf(begun, 2);
  await setTimeout(150);
  come(turns, MANY, 12, begun);
  const [, ...later] = await turnsOf(begun, 14);
  expect(later.map((turn) => turn.length)).toEqual([4, 4]);
});

test('an IPv6 network counts as one', async () => {
  const turns = createAdmissionScheduler();
  const begun: string[] = [];
  for (let index = 1; index <= 100; index += 1) come(turns, `2001:db8::${index}`, 1, begun);
  come(turns, '2001:db8:0:1::1', 1, begun);
  const [first = [], next = []] = await turnsOf(begun, 101);
  expect([...first, ...next]).toContain('2001:db8:0:1::1');
  expect(next).toHaveLength(2);
});
