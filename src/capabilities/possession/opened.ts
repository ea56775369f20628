import { loadOnce } from '../../core/lib/single-flight.ts';
import type { CheckProof } from '../../core/model/on-route.ts';
import type { ConfigParts, Opened, ProcessParts } from '../capability.ts';
import { Nonces } from './nonces.ts';
import { dpop } from './settings.ts';

/** Proofs of possession under one configuration. The code that checks them is loaded where a route takes them. */
export function openPossession(
  { config: { publicUrl }, secret }: ConfigParts,
  { clock, replays }: Pick<ProcessParts, 'clock' | 'replays'>,
): Opened {
  const nonces = new Nonces(secret, clock);
  const loaded = loadOnce(async () => {
    const { createProofChecks } = await import('./proof-check.ts');
    return createProofChecks({ publicUrl, nonces, replays, clock });
  });

  return {
    of(route) {
      const settings = dpop.of(route);
      if (settings === undefined) return {};
      let check: CheckProof | undefined;
      return {
        proofs: {
          nonce: settings.nonce ? nonces.current : undefined,
          async check(...proof) {
            check ??= (await loaded())(settings);
            await check(...proof);
          },
        },
      };
    },
    // So that the first call need not wait. If it fails, the call tries again.
    start(routes) {
      if (routes.some((route) => dpop.of(route) !== undefined)) loaded().catch(() => {});
    },
  };
}
