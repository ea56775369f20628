import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { expect, test } from 'vitest';
import { createAdmissionScheduler, type EventLoop, type OnRequest } from '../../src/listen/admission-scheduler.ts';

const MANY = '192.0.2.1';
const ONE = '192.0.2.2';

/** A scheduler on an event loop that the test turns. */
interface Scene {
  /** The addresses whose requests have begun, in order. */
  readonly begun: string[];
  /** How often the scheduler has read the clock. */
  readonly readings: () => number;
  arrive(address: string, count?: number): void;
  /** Ends the arrivals of a turn. Returns the addresses whose requests begin then. */
  turn(): string[];
  /** Lets time pass, turn by turn, until no request waits. */
  pass(ms: number): void;
  /** Makes a client the lone one: no other has sent a request for a second. */
  leaveAlone(address: string): void;
}

/** @param beginMs The time that each request takes to begin. */
function createScene(beginMs = 0): Scene {
  const begun: string[] = [];
  const acts: (() => void)[] = [];
  let now = 10_000;
  let readings = 0;
  const loop: EventLoop = {
    now() {
      readings += 1;
      return now;
    },
    afterArrivals: (act) => void acts.push(act),
  };
  const schedule = createAdmissionScheduler((request) => {
    begun.push(request.socket.remoteAddress ?? '');
    now += beginMs;
  }, loop);
  const scene: Scene = {
    begun,
    readings: () => readings,
    arrive(address, count = 1) {
      for (let index = 0; index < count; index += 1) schedule(...requestFrom(address));
    },
    turn() {
      const before = begun.length;
      for (const act of acts.splice(0)) act();
      return begun.slice(before);
    },
    pass(ms) {
      while (acts.length > 0) scene.turn();
      now += ms;
    },
    leaveAlone(address) {
      scene.arrive(address);
      scene.pass(1_000);
      scene.arrive(address);
      scene.pass(0);
      begun.length = 0;
    },
  };
  return scene;
}

function requestFrom(address: string): [IncomingMessage, ServerResponse] {
  const socket = Object.defineProperty(new Socket(), 'remoteAddress', { value: address });
  const request = new IncomingMessage(socket);
  return [request, new ServerResponse(request)];
}

test('a request of a lone client begins at once, without a look at the clock', () => {
  const scene = createScene();
  scene.leaveAlone(MANY);
  const readings = scene.readings();
  scene.arrive(MANY, 64);
  expect(scene.begun).toHaveLength(64);
  expect(scene.turn()).toEqual([]);
  expect(scene.readings()).toBe(readings);
});

test('after 64 requests of a lone client the next begins once all have arrived, and then 64 begin at once again', () => {
  const scene = createScene();
  scene.leaveAlone(MANY);
  scene.arrive(MANY, 66);
  expect(scene.begun).toHaveLength(64);
  expect(scene.turn()).toHaveLength(2);
  scene.arrive(MANY, 65);
  expect(scene.begun).toHaveLength(66 + 64);
});

test('a client with one request does not wait for a client with a hundred', () => {
  const scene = createScene();
  scene.leaveAlone(MANY);
  scene.arrive(MANY, 100);
  scene.arrive(ONE);
  expect(scene.turn().slice(0, 2)).toEqual([MANY, ONE]);
});

test('the first request of a second client waits for no request that arrives after it', () => {
  const scene = createScene();
  scene.leaveAlone(MANY);
  scene.arrive(MANY, 2);
  scene.arrive(ONE);
  scene.arrive(MANY, 3);
  expect(scene.begun).toEqual([MANY, MANY]);
  expect(scene.turn()).toEqual([ONE, MANY, MANY, MANY]);
});

test('clients that compete begin in turn, however their requests arrive', () => {
  const scene = createScene();
  scene.arrive(MANY, 3);
  scene.arrive(ONE, 2);
  scene.arrive('192.0.2.3');
  expect(scene.begun).toEqual([]);
  expect(scene.turn()).toEqual([MANY, ONE, '192.0.2.3', MANY, ONE, MANY]);
});

test('a turn begins requests for a tenth of a millisecond, and the next turn goes on with the next client', () => {
  const scene = createScene(0.04);
  scene.arrive(MANY, 4);
  scene.arrive(ONE, 3);
  expect(scene.turn()).toEqual([MANY, ONE, MANY]);
  expect(scene.turn()).toEqual([ONE, MANY, ONE]);
  expect(scene.turn()).toEqual([MANY]);
  expect(scene.turn()).toEqual([]);
});

test('a turn begins a request even if each takes longer than a turn may', () => {
  const scene = createScene(5);
  scene.arrive(MANY, 2);
  expect([scene.turn(), scene.turn(), scene.turn()]).toEqual([[MANY], [MANY], []]);
});

test('a request of a lone client does not overtake one of its own that waits', () => {
  const scene = createScene(5);
  scene.leaveAlone(MANY);
  scene.arrive(MANY, 66);
  expect(scene.turn()).toHaveLength(1);
  scene.arrive(MANY);
  expect(scene.begun).toHaveLength(65);
  expect([scene.turn(), scene.turn(), scene.turn()]).toEqual([[MANY], [MANY], []]);
});

test('a client is alone again a second after the last request of another client', () => {
  const scene = createScene();
  scene.arrive(ONE);
  scene.arrive(MANY);
  scene.pass(999);
  scene.arrive(MANY);
  expect(scene.begun).toHaveLength(2);
  scene.pass(1);
  expect(scene.begun).toHaveLength(3);
  scene.arrive(MANY);
  expect(scene.begun).toHaveLength(3);
  expect(scene.turn()).toEqual([MANY]);
  scene.arrive(MANY);
  expect(scene.begun).toHaveLength(5);
  scene.arrive(ONE);
  expect(scene.begun).toHaveLength(5);
});

test('the addresses of an IPv6 network share the turns of one client', () => {
  const scene = createScene();
  for (let index = 1; index <= 100; index += 1) scene.arrive(`2001:db8::${index}`);
  scene.arrive('2001:db8:0:1::1');
  expect(scene.turn().slice(0, 2)).toEqual(['2001:db8::1', '2001:db8:0:1::1']);
});

test('a handshake keeps its first bytes, at once and later', () => {
  const heads: (Buffer | undefined)[] = [];
  const acts: (() => void)[] = [];
  const onRequest: OnRequest = (_request, _response, head) => heads.push(head);
  let now = 0;
  const schedule = createAdmissionScheduler(onRequest, {
    now: () => now,
    afterArrivals: (act) => void acts.push(act),
  });
  for (const text of ['first', 'second', 'third']) {
    schedule(...requestFrom(ONE), Buffer.from(text));
    acts.shift()?.();
    now += 1_000;
  }
  expect(heads.map(String)).toEqual(['first', 'second', 'third']);
});
