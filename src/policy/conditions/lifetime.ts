import { durationMs } from '../../lib/quantity.ts';
import { rulePath } from '../policy-error.ts';
import { type ConditionContext, type LeafCondition, leafCondition } from './condition.ts';

/** `max_lifetime`: the token was issued for at most this time. */
export function compileLifetime(
  written: string,
  { path, reading }: Pick<ConditionContext, 'path' | 'reading'>,
): readonly LeafCondition[] {
  const seconds = durationSeconds(written);
  const unknown = reading === 'cautious' ? 'met' : 'lifetime';
  const condition = leafCondition({
    kind: 'lifetime',
    rule: rulePath(path),
    reason: 'lifetime.exceeded',
    unmet: 'lifetime',
    reads: { lifetimes: [seconds] },
    judge({ expiresAt, issuedAt }) {
      if (expiresAt === undefined || issuedAt === undefined) return unknown;
      const lifetime = expiresAt - issuedAt;
      // A negative lifetime is a mistake of the server and does not prove that the token is short-lived.
      return lifetime >= 0 && lifetime <= seconds ? 'met' : 'lifetime';
    },
    words({ expiresAt, issuedAt }) {
      const wanted = `a lifetime (exp - iat) of at most ${seconds} s`;
      if (expiresAt === undefined) return { wanted, found: 'no exp' };
      if (issuedAt === undefined) return { wanted, found: 'no iat' };
      return { wanted, found: `${expiresAt - issuedAt} s` };
    },
  });
  return [condition];
}

/** A duration that the schema's pattern accepted. For any other text, no lifetime is short enough. */
export function durationSeconds(duration: string): number {
  return (durationMs(duration) ?? Number.NaN) / 1000;
}
