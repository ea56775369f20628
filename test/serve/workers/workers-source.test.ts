import type { Worker } from 'node:cluster';
import { EventEmitter } from 'node:events';
import { expect, test } from 'vitest';
import type { ServerState } from '../../../src/ports/authorization-server-client.ts';
import { processState } from '../../../src/serve/admin/answers.ts';
import type { ToWorker } from '../../../src/serve/workers/worker-messages.ts';
import { createWorkersSource } from '../../../src/serve/workers/primary.ts';

const base = { name: 'main', issuer: 'https://issuer.example' };
const keysOf = (minute: number): ServerState['keys'] => {
  const time = `2026-01-01T00:0${minute}:00.000Z`;
  return { count: 1, fetched: time, newest: time };
};

test.each<{ title: string; reported: readonly Omit<ServerState, 'name' | 'issuer'>[]; shown: number }>([
  {
    title: 'a known state rather than an unknown one',
    reported: [{ state: 'unknown' }, { state: 'available' }],
    shown: 1,
  },
  {
    title: 'the state of the only worker with a problem',
    reported: [{ state: 'available', keys: keysOf(1) }, { state: 'stale', problem: 'timeout' }, { state: 'degraded' }],
    shown: 1,
  },
  {
    title: 'the oldest keys',
    reported: [
      { state: 'available' },
      { state: 'available', keys: keysOf(2) },
      { state: 'available', keys: keysOf(1) },
    ],
    shown: 2,
  },
])('shows of an authorization server $title', async ({ reported, shown }) => {
  const states = reported.map((state): ServerState => ({ ...base, ...state }));
  const workers = states.map(() => new EventEmitter() as Worker);
  const tell = (worker: Worker, message: ToWorker): void => {
    const answer = { servers: [states[workers.indexOf(worker)]], openStreams: 0 };
    if (message.kind === 'ask')
      queueMicrotask(() => worker.emit('message', { kind: 'answer', number: message.number, answer }));
  };
  const source = createWorkersSource(() => workers, tell);
  for (const worker of workers) source.follow(worker);
  expect((await source.ask(processState, undefined)).servers).toEqual([states[shown]]);
});
