import type { DecisionInput } from '../model/decision-record.ts';
import type { Outcome } from '../model/outcome.ts';
import type { McpTarget, Policy } from '../model/policy.ts';
import type { Principal } from '../model/principal.ts';

/** The longest claim and the longest name that are logged, in UTF-16 code units of JSON. */
const MAX_LENGTH = 512;
/** What one message may act on, as much of it as is logged. */
const MAX_TARGETS = 32;

/** What to decide an outcome again by; undefined where no policy decided, or where it asked for nothing more. */
export function decisionInput({ route, principal, attempt }: Outcome): DecisionInput | undefined {
  const policy = route?.policy;
  if (policy === undefined || principal === undefined) return undefined;
  const targets = attempt?.kind === 'mcp' ? loggedTargets(attempt.targets) : undefined;
  const caller = callerInput(policy, principal);
  return targets === undefined ? caller : { ...caller, targets };
}

/** The part of it that a caller's token says. */
export function callerInput(policy: Policy, principal: Principal): DecisionInput | undefined {
  const claims = Object.entries(policy.claimsRead(principal.claims));
  const short = claims.filter(([, value]) => isShort(value));
  const omitted = claims.filter((claim) => !short.includes(claim)).map(([name]) => name);
  const { expiresAt, issuedAt } = principal;
  const lifetime = expiresAt === undefined || issuedAt === undefined ? undefined : expiresAt - issuedAt;
  if (claims.length === 0 && lifetime === undefined) return undefined;
  return {
    ...(short.length > 0 && { claims: Object.fromEntries(short) }),
    ...(omitted.length > 0 && { omitted }),
    ...(lifetime !== undefined && { lifetime }),
  };
}

function isShort(value: unknown): boolean {
  try {
    return (JSON.stringify(value) ?? '').length <= MAX_LENGTH;
  } catch {
    // Thousands of levels deep: JSON.parse reads what JSON.stringify cannot write.
    return false;
  }
}

/** Those that are not plainly the line's `tool`. */
function loggedTargets(targets: readonly McpTarget[]): readonly McpTarget[] | undefined {
  if (targets.every(({ kind }) => kind === 'tool')) return undefined;
  return targets.slice(0, MAX_TARGETS).map(({ kind, name }) => ({ kind, name: name.slice(0, MAX_LENGTH) }));
}
