/** How long the longer tests go on; `FAULT_ROUNDS=100 vitest run test/faults` for a soak. */
export const rounds = Number(process.env['FAULT_ROUNDS'] ?? 1);

/** For a machine with much else to do: what must happen at last may take so long. Asking more often would take its time. */
export const patience = { timeout: 60_000, interval: 100 };

/** Of a test that is patient several times. */
export const patient = { timeout: 300_000 * rounds };
