import type { Clock } from '../../lib/clock.ts';
import { Denial } from '../../model/denial.ts';
import type { Principal } from '../../model/principal.ts';
import type { RevocationCheck } from '../../model/revocation.ts';

/** Refuses revoked tokens. It is asked at each use of a token, also of one that a cache knows as valid. */
export interface RevocationGuard {
  /** @throws {Denial} `token.revoked`, or `shared_store.unavailable` while the revocations are not known. */
  requireNotRevoked(principal: Principal): void;
  /**
   * Requires that a JWT is not older than revocations are remembered. Opaque tokens are their server's affair.
   *
   * @throws {Denial} `token.too_old`
   */
  requireRecent(principal: Principal): void;
}

/** Creates the guard of a configuration. `keepMs`: how long revocations are remembered. */
export function createRevocationGuard(check: RevocationCheck, keepMs: number, clock: Clock): RevocationGuard {
  return {
    requireNotRevoked(principal) {
      if (!check.isReady()) throw new Denial('shared_store.unavailable', 'the kept revocations are not known yet');
      if (check.revokes(principal)) throw new Denial('token.revoked', `${issuedWords(principal)}, which was revoked`);
    },
    requireRecent(principal) {
      const { form, issuedAt } = principal;
      if (form !== 'jwt') return;
      if (issuedAt !== undefined && issuedAt * 1000 > clock() - keepMs) return;
      const limit = 'revocations are remembered for revocation.keep';
      throw new Denial('token.too_old', `${issuedWords(principal)}, and ${limit}, ${keepMs / 1000} s`);
    },
  };
}

function issuedWords({ issuedAt }: Principal): string {
  return issuedAt === undefined ? 'it has no iat' : `it was issued at ${issuedAt}`;
}
