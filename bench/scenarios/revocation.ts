/**
 * Rights that end: how long open streams live after an event, and what a request pays for revocations that are kept.
 *
 * @module
 */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { caep, push, startTransmitter, type Transmitter } from '../../test/support/transmitter.ts';
import type { Bench, Scenario } from '../bench.ts';
import { cpuLines, measureCpu } from '../compare-cpu.ts';
import { createSallyport, type SallyportContender } from '../contenders/sallyport.ts';
import { openStreams, type Streams } from '../load/streams.ts';
import { cpuMicroseconds, startNode, written } from '../machine/process.ts';
import { median } from '../statistics.ts';
import { atMost, milliseconds, type Line } from '../table.ts';
import { requestOf } from './requests.ts';

const STREAMS = 10_000;
const KEPT = 100_000;
/** Tokens that share the streams. */
const TOKENS = 20;
const AIM_MS = 1_000;
/** Files that a process of the gateway opens besides its streams, at most. */
const OTHER_FILES = 150;

/** All streams of one person, at the event that disables the account. */
export const revokedStreams: Scenario = {
  name: 'revoked-streams',
  about: `from a pushed event to the end of the last of ${STREAMS} streams of the person, ${KEPT} revocations kept`,
  async run(bench) {
    const transmitter = await startTransmitter();
    const upstream = await startNode('event-upstream.ts', 'other');
    try {
      return [await ended(bench, transmitter, upstream.url)];
    } finally {
      await Promise.all([upstream.stop(), transmitter.close()]);
    }
  },
};

async function ended(bench: Bench, transmitter: Transmitter, upstream: string): Promise<Line> {
  const name = 'one process';
  // A stream takes two sockets of its process.
  const files = Number(execFileSync('sh', ['-c', 'ulimit -n'], { encoding: 'utf8' }));
  const count = Math.min(STREAMS, TOKENS * Math.floor((files - OTHER_FILES) / 2 / TOKENS));
  const contender = await remembering(bench, name, KEPT, transmitter.url);
  const rounds = Array.from({ length: Math.min(bench.rounds, 5) }, (_, round) => `person-${round}`);
  const found = await bench.with(
    [contender],
    async (running) => {
      const { url = '', pids = [] } = running.get(name) ?? {};
      const all: { answerMs: number; endMs: number; cpuMs: number }[] = [];
      for (const sub of rounds) {
        const streams: Streams[] = [];
        for (let token = 0; token < TOKENS; token += 1) {
          const headers = { authorization: `Bearer ${await bench.token({ sub })}`, accept: 'text/event-stream' };
          streams.push(await openStreams(url, { method: 'GET', path: '/mcp', headers }, count / TOKENS));
        }
        const subject = { format: 'iss_sub', iss: bench.issuer.url, sub };
        const claims = { aud: bench.surroundings.audience };
        const set = await transmitter.sign(`${caep}session-revoked`, subject, {}, { claims });
        const cpu = cpuMicroseconds(pids);
        const since = performance.now();
        const { status } = await push(`${url}/events`, set);
        const answerMs = performance.now() - since;
        if (status !== 202) throw new Error(`the event got ${status}`);
        await Promise.all(streams.map(({ over }) => over));
        const endMs = performance.now() - since;
        for (const { close } of streams) close();
        all.push({ answerMs, endMs, cpuMs: (cpuMicroseconds(pids) - cpu) / 1000 });
      }
      return all;
    },
    { upstream },
  );
  const of = (member: 'answerMs' | 'endMs' | 'cpuMs'): number => median(found.map((each) => each[member]));
  return {
    subject: name,
    cells: {
      streams: String(count),
      '202 after ms': of('answerMs').toFixed(0),
      'last stream ended after ms': of('endMs').toFixed(0),
      'CPU ms of the gateway': of('cpuMs').toFixed(0),
    },
    aims: [atMost(`to the end of the last stream, ${name}`, AIM_MS, of('endMs'), milliseconds)],
  };
}

/** What revocation costs a request. */
export const keptRevocations: Scenario = {
  name: 'kept-revocations',
  about: `GET with a cached JWT: no \`revocation\` in the configuration, none kept, and ${KEPT} kept`,
  async run(bench) {
    const transmitter = await startTransmitter();
    try {
      const contenders = [
        await remembering(bench, 'sallyport', KEPT, transmitter.url),
        await remembering(bench, 'none kept', 0, transmitter.url),
        createSallyport({ name: 'no revocation' }),
      ];
      const request = requestOf('get', await bench.token({ sid: 'a-session', email: 'alice@example.com' }));
      const samples = await bench.with(contenders, (running) => measureCpu(bench, running, request));
      return cpuLines(samples, contenders, { 'no revocation': 1.05 });
    } finally {
      await transmitter.close();
    }
  },
};

/** A gateway that starts with revocations of each kind. */
async function remembering(bench: Bench, name: string, kept: number, issuer: string): Promise<SallyportContender> {
  const at = Math.floor(Date.now() / 1000);
  const kinds = [['subject'], ['email'], ['session'], ['token'], ['subject', 'session']] as const;
  const lines = Array.from({ length: kept }, (_, index) => {
    const members = kinds[index % kinds.length]?.map((member) => [member, `${member}-${index}@example.com`]) ?? [];
    const revocation = { issuer: bench.issuer.url, ...Object.fromEntries(members), at, arrivedAt: at };
    return `${JSON.stringify({ revocations: [revocation], arrivedAt: at })}\n`;
  });
  const file = await written(join(bench.surroundings.folder, `revocations of ${name}.jsonl`), lines.join(''));
  const events = { bench: { issuer, audience: bench.surroundings.audience, delivery: 'push', path: '/events' } };
  return createSallyport({ name, more: { revocation: { keep: '31d', file, events } } });
}
