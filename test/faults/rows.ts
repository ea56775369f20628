/** Every fault that is survived: the party that fails, and how. Each is a row of `docs/faults.md`, and a test here. */
export const rows = [
  'upstream: is not there',
  'upstream: resets every connection',
  'upstream: takes connections and says nothing',
  'upstream: sends a byte at a time',
  'upstream: ends its way and goes on reading',
  'upstream: dies within a header',
  'upstream: dies within a body',
  'upstream: dies within an event',
  'upstream: closes a kept connection as it is used',
  'upstream: sends interim answers for ever',
  'authorization server: is not there',
  'authorization server: resets every connection',
  'authorization server: takes connections and says nothing',
  'authorization server: sends a byte at a time',
  'authorization server: ends its way and goes on reading',
  'authorization server: dies within an answer',
  'authorization server: comes back with other keys',
  'shared store: is not there',
  'shared store: resets every connection',
  'shared store: takes connections and says nothing',
  'shared store: ends its way and goes on reading',
  'shared store: dies within an answer',
  'shared store: is killed and comes back empty',
  'client: resets every connection',
  'client: neither reads nor writes',
  'client: reads a byte at a time',
  'client: ends its way and goes on reading',
  'client: leaves within a header',
  'client: leaves within an upload',
  'client: leaves within an answer',
  'client: leaves within an event',
  'client: sends a body too slowly',
  'worker: is killed under load',
  'worker: stops, and is killed then',
  'all: one after another, in one process',
] as const;

/** One of {@link rows}. */
export type Row = (typeof rows)[number];

/** How long the longer tests go on; `FAULT_ROUNDS=100 vitest run test/faults` for a soak. */
export const rounds = Number(process.env['FAULT_ROUNDS'] ?? 1);

/** For a machine with much else to do: what must happen at last may take so long. */
export const patience = { timeout: 60_000 };

/** Of a test that is patient several times. */
export const patient = { timeout: 300_000 * rounds };
