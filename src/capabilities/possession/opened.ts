import type { ConfigParts, InProcess, Opened, ProcessParts } from '../capability.ts';
import { Nonces } from './nonces.ts';
import { createProofChecks } from './proof-check.ts';
import { dpop } from './settings.ts';

/** Proofs of possession in a process. */
export function openPossession(parts: Pick<ProcessParts, 'clock' | 'replays'>): InProcess {
  return { open: (about) => openedUnder(about, parts) };
}

function openedUnder(
  { config: { publicUrl }, secret }: ConfigParts,
  { clock, replays }: Pick<ProcessParts, 'clock' | 'replays'>,
): Opened {
  const nonces = new Nonces(secret, clock);
  const checkOf = createProofChecks({ publicUrl, nonces, replays, clock });
  return {
    of(route) {
      const settings = dpop.of(route);
      if (settings === undefined) return {};
      return { proofs: { nonce: settings.nonce ? nonces.current : undefined, check: checkOf(settings) } };
    },
  };
}
