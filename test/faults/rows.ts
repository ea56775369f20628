/** Every fault that is survived: the party that fails, and how. Each is a row of `docs/internals/faults.md`, and a test here. */
export const rows = [
  'upstream: is down',
  'upstream: resets every connection',
  'upstream: accepts connections and never answers',
  'upstream: sends one byte at a time',
  'upstream: half-closes its connections',
  'upstream: dies within a header',
  'upstream: dies within a body',
  'upstream: dies within an event',
  'upstream: closes a kept-alive connection as it is used',
  'upstream: sends interim answers without end',
  'authorization server: is down',
  'authorization server: resets every connection',
  'authorization server: accepts connections and never answers',
  'authorization server: sends one byte at a time',
  'authorization server: half-closes its connections',
  'authorization server: dies within an answer',
  'authorization server: comes back with other keys',
  'shared store: is down',
  'shared store: resets every connection',
  'shared store: accepts connections and never answers',
  'shared store: half-closes its connections',
  'shared store: dies within an answer',
  'shared store: is killed and comes back empty',
  'client: resets every connection',
  'client: neither reads nor writes',
  'client: reads one byte at a time',
  'client: half-closes its connections',
  'client: disconnects within a header',
  'client: disconnects within an upload',
  'client: disconnects within an answer',
  'client: disconnects within an event',
  'client: sends a body too slowly',
  'worker: is killed under load',
  'worker: hangs and is then killed',
  'all: one fault after another, in one process',
] as const;

/** One of {@link rows}. */
export type Row = (typeof rows)[number];

/** How long the longer tests go on; `FAULT_ROUNDS=100 vitest run test/faults` for a soak. */
export const rounds = Number(process.env['FAULT_ROUNDS'] ?? 1);

/** For a machine with much else to do: what must happen at last may take so long. */
export const patience = { timeout: 60_000 };

/** Of a test that is patient several times. */
export const patient = { timeout: 300_000 * rounds };
