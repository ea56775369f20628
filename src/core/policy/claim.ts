import { malformedPointer } from '../lib/json/describe-value.ts';
import { ownMember } from '../lib/json/own-member.ts';
import { claimReader, keysOf, type MemberReader, unreachable } from '../lib/json/pointer.ts';
import { gatewayClaim } from '../model/gateway-claims.ts';
import type { Claims, Principal } from '../model/principal.ts';
import type { DocumentPath, OperandDocument, PolicyFault } from './document.ts';

/** Compiles the name of a claim, or a JSON Pointer to one. Appends a malformed one to `faults`. */
export function compileClaim(name: string, path: DocumentPath, faults: PolicyFault[]): MemberReader {
  const read = claimReader(name);
  if (read === undefined) faults.push({ path, message: malformedPointer(name) });
  return (claims) => (isElsewhere(claims, name) ? unreachable : read?.(claims));
}

/**
 * Whether a token leaves the claim to another source: OpenID Connect Core §5.6.2, and Entra ID's `hasgroups`. The
 * gateway does not ask that source. An absent claim would satisfy a `not`: a caller in too many groups would pass where
 * each of these groups is excluded.
 */
export function isElsewhere(claims: Claims, name: string): boolean {
  const names = ownMember(claims, '_claim_names');
  const hasGroups = ownMember(claims, 'hasgroups') ?? false;
  if (names === undefined && hasGroups === false) return false;
  const member = gatewayClaim(name)?.source ?? memberOf(name);
  return ownMember(names, member) !== undefined || (hasGroups !== false && member === 'groups');
}

/** The member of the token that a claim's name, or a JSON Pointer to one, leads through. */
export function memberOf(name: string): string {
  return (name.startsWith('/') ? keysOf(name)?.[0] : name) ?? name;
}

/** The claims that a condition reads: of the caller, and of the caller that asked for an approval. */
export type Caller = Pick<Principal, 'claims' | 'exactClaims' | 'asker'>;

/** A claim of a caller whose numbers keep their digits. */
export function exactClaim(name: string, read: MemberReader, { claims, exactClaims }: Caller): unknown {
  // Claims that the gateway adds are not in the token.
  return read(exactClaims === undefined || gatewayClaim(name) !== undefined ? claims : exactClaims);
}

/** A claim that a value is compared with. */
export interface ClaimOperand {
  /** `asker`: the caller that asked for the approval; its claims are sealed in the request. */
  readonly of: 'caller' | 'asker';
  /** As written: a claim's name or a JSON Pointer. */
  readonly name: string;
  readonly read: MemberReader;
  /** Its value, with the digits of numbers. */
  readonly valueFor: (caller: Caller) => unknown;
}

/** Compiles an operand. Appends a malformed name, and `caller` where there is no other caller, to `faults`. */
export function compileOperand(document: OperandDocument, path: DocumentPath, faults: PolicyFault[]): ClaimOperand {
  const [key, name] =
    'claim' in document ? (['claim', document.claim] as const) : (['caller', document.caller] as const);
  const read = compileClaim(name, [...path, key], faults);
  // An approval is a key of an entry, which has a key and a name.
  if (key === 'caller' && !(path[2] === 'approval' && path[3] === 'by')) {
    const message = 'caller is for by of an approval, which has a caller besides the approver; write claim';
    faults.push({ path, message });
  }
  if (key === 'caller') return { of: 'asker', name, read, valueFor: ({ asker }) => ownMember(asker, name) };
  const isAdded = gatewayClaim(name) !== undefined;
  return {
    of: 'caller',
    name,
    read,
    valueFor: ({ claims, exactClaims }) => read(isAdded ? claims : (exactClaims ?? claims)),
  };
}

/** An operand in words. */
export function operandInWords({ of, name }: ClaimOperand): string {
  return of === 'caller' ? `claim ${name}` : `claim ${name} of the caller that asks`;
}
