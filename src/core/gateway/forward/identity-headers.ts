import { memberReader } from '../../lib/json/pointer.ts';
import { plainFieldName } from '../../model/client-fields.ts';
import { Denial } from '../../model/denial.ts';
import type { StatesCaller } from '../../model/on-route.ts';
import type { Principal } from '../../model/principal.ts';
import type { Route } from '../../model/route.ts';

/** The headers by which a route tells its upstream about the caller. */
export interface IdentityHeaders {
  /** The names of all these headers, in lower case. */
  readonly names: readonly string[];
  /**
   * Adds name, value, name, value, … for every claim that the token has.
   *
   * @throws {Denial} `claim.denied` for a claim that no header can carry.
   */
  addTo(headers: string[], principal: Principal, decision: string): void;
}

/**
 * The identity headers of all `routes`, each name in lower case by its {@link plainFieldName}. A client's own such
 * header is dropped on every route: several routes may lead to one upstream, and a public route would put nothing in
 * its place.
 */
export function identityNames(routes: readonly Route[]): ReadonlyMap<string, string> {
  return new Map(routes.flatMap((route) => namesOf(route).map((name) => [plainFieldName(name), name])));
}

function namesOf({ upstream: { identity, statements } }: Route): readonly string[] {
  return [...identity.keys(), ...statements.map(({ header }) => header)];
}

/**
 * Creates the identity headers of a route.
 *
 * @param states Make the values of the statements of its upstream.
 */
export function createIdentityHeaders(route: Route, states: readonly StatesCaller[]): IdentityHeaders {
  const { upstream } = route;
  const claims = [...upstream.identity].map(([name, claim]) => [name, claimReader(claim)] as const);
  /** A principal stays the same object while its token is cached. */
  const claimFields = new WeakMap<Principal, readonly string[]>();

  function claimFieldsOf(principal: Principal): readonly string[] {
    const known = claimFields.get(principal);
    if (known !== undefined) return known;
    const fields = claims.flatMap(([name, read]) => {
      const value = headerValue(read(principal));
      return value === undefined ? [] : [name, value];
    });
    claimFields.set(principal, fields);
    return fields;
  }

  return {
    names: namesOf(route),
    addTo(headers, principal, decision) {
      if (claims.length > 0) headers.push(...claimFieldsOf(principal));
      for (const { header, of } of states) headers.push(header, of(principal, decision));
    },
  };
}

type ClaimReader = (principal: Principal) => unknown;

/** Creates the reader of a claim. `client_id` is read from the principal, because some tokens name it differently. */
function claimReader(claim: string): ClaimReader {
  const read = memberReader(claim);
  if (read === undefined) throw new TypeError(`${claim} is not a JSON Pointer`);
  if (claim === 'client_id') return (principal) => principal.clientId ?? read(principal.claims);
  return (principal) => read(principal.claims);
}

const SEPARATOR = ',';
/** The characters that a member has encoded: controls, non-ASCII, the separator, `%`, and spaces at its ends. */
const encoded = new RegExp(`[^ -~]|[%${SEPARATOR}]|^ | $`, 'gu');

/**
 * A claim as a field value: a scalar as it is, a list of scalars separated by commas. Controls, non-ASCII, commas and
 * `%` are percent-encoded as UTF-8. The value decodes to exactly the claim. A user who chooses a name with a comma or a
 * line break can neither add a member nor end the line.
 *
 * @throws {Denial} `claim.denied` for an object, which has no such form.
 */
function headerValue(value: unknown): string | undefined {
  if (value === null || value === undefined) return undefined;
  return Array.isArray(value) ? value.map(scalar).join(SEPARATOR) : scalar(value);
}

function scalar(value: unknown): string {
  if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean') {
    throw new Denial('claim.denied', 'a claim for an identity header is neither a scalar nor a list of scalars');
  }
  return String(value).toWellFormed().replace(encoded, encodeURIComponent);
}
