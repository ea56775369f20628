import type { ConnectionFault } from '../support/fault-proxy.ts';
import type { Party } from './bed.ts';
import type { Excuses } from './judge.ts';
import type { Fault } from './survive.ts';

/** The answers that clients may get while a party fails. */
const excusesOf: Readonly<Record<Party, Excuses>> = {
  upstream: { reasons: ['upstream.unreachable', 'upstream.timeout', 'upstream.invalid'], truncated: true },
  'authorization server': { reasons: ['authorization_server.unavailable'] },
  'shared store': { reasons: ['shared_store.unavailable'] },
  client: { reasons: ['body.incomplete', 'request.malformed', 'request.timeout'], truncated: true, unanswered: true },
};

/** What the wire to each party does in a row of the table. */
export const wireFaults = {
  'upstream: is down': { kind: 'refuse' },
  'upstream: resets every connection': { kind: 'reset' },
  'upstream: accepts connections and never answers': { kind: 'stall' },
  'upstream: sends one byte at a time': { kind: 'drip', everyMs: 20 },
  'upstream: half-closes its connections': { kind: 'half-open' },
  'upstream: dies within a header': { kind: 'cut', way: 'answers', after: 20 },
  'upstream: dies within a body': { kind: 'cut', way: 'answers', after: 20_000 },
  'upstream: dies within an event': { kind: 'cut', way: 'answers', after: 1_500 },
  'authorization server: is down': { kind: 'refuse' },
  'authorization server: resets every connection': { kind: 'reset' },
  'authorization server: accepts connections and never answers': { kind: 'stall' },
  'authorization server: sends one byte at a time': { kind: 'drip', everyMs: 20 },
  'authorization server: half-closes its connections': { kind: 'half-open' },
  'authorization server: dies within an answer': { kind: 'cut', way: 'answers', after: 150 },
  'shared store: is down': { kind: 'refuse' },
  'shared store: resets every connection': { kind: 'reset' },
  'shared store: accepts connections and never answers': { kind: 'stall' },
  'shared store: half-closes its connections': { kind: 'half-open' },
  'shared store: dies within an answer': { kind: 'cut', way: 'answers', after: 7 },
  'client: resets every connection': { kind: 'reset' },
  'client: neither reads nor writes': { kind: 'stall' },
  'client: reads one byte at a time': { kind: 'drip', everyMs: 5 },
  'client: half-closes its connections': { kind: 'half-open' },
  'client: disconnects within a header': { kind: 'cut', way: 'requests', after: 20 },
  'client: disconnects within an upload': { kind: 'cut', way: 'requests', after: 30_000 },
  'client: disconnects within an answer': { kind: 'cut', way: 'answers', after: 20_000 },
  'client: disconnects within an event': { kind: 'cut', way: 'answers', after: 1_500 },
} as const satisfies Readonly<Record<string, ConnectionFault>>;

/** In these rows it is the client that does not let its calls end. */
const held: ReadonlySet<string> = new Set<WireRow>([
  'client: neither reads nor writes',
  'client: reads one byte at a time',
]);

/** A row whose fault is one of a wire. */
export type WireRow = keyof typeof wireFaults;

/** What happens in a row. */
export function wireFault(row: WireRow): Fault {
  const party = row.slice(0, row.indexOf(':')) as Party;
  return {
    excuses: { ...excusesOf[party], held: held.has(row) },
    begin: (bed) => bed.wires[party]?.fault(wireFaults[row]),
    end: (bed) => bed.wires[party]?.fault(undefined),
  };
}
