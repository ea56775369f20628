import type { UpstreamKeys } from '../../../schema/validators.js';
import type { Field } from '../../core/config/field.ts';
import { ownFieldFault } from '../../core/config/identity-header.ts';
import { claimName, headerValue } from '../../core/config/values.ts';
import { memberReader } from '../../core/lib/json/pointer.ts';
import { plainFieldName } from '../../core/model/client-fields.ts';
import type { Principal } from '../../core/model/principal.ts';
import type { Route } from '../../core/model/route.ts';
import type { ChosenField, UpstreamHeaders } from './slot.ts';

const MAX_HEADERS = 16;

/** `upstream.headers` of a route. */
export function readUpstreamHeaders(
  upstream: Field<UpstreamKeys | undefined>,
  route: Pick<Route, 'public' | 'upstream'>,
): UpstreamHeaders | undefined {
  const field = upstream.get('headers');
  if (!field.present) return undefined;
  const entries = field.entries();
  if (entries.length > MAX_HEADERS) field.addProblem(`has ${entries.length} headers; at most ${MAX_HEADERS} are sent`);
  const taken = namesInIdentity(upstream.get('identity'));
  const identity = new Map(taken.map((name) => [plainFieldName(name.toLowerCase()), name]));
  const spelt = new Map<string, string>();
  const constant: string[] = [];
  const chosen: ChosenField[] = [];
  for (const [name, value] of entries) {
    const lower = name.toLowerCase();
    const fault = ownFieldFault(lower, route.upstream.token);
    if (fault !== undefined) value.addProblem(fault, 'key');
    // Many servers read `-` and `_` alike: they would merge two such headers, or use either.
    const claimed = identity.get(plainFieldName(lower));
    if (claimed !== undefined) value.addProblem(`is also in identity, as ${claimed}`, 'key');
    const alike = spelt.get(plainFieldName(lower));
    if (alike !== undefined) value.addProblem(`is the same header as ${alike}`, 'key');
    spelt.set(plainFieldName(lower), name);
    if (value.entries().length === 0) constant.push(lower, (value as Field as Field<string>).read(headerValue) ?? '');
    else {
      if (route.public) value.addProblem('by cannot be combined with public: true: there is no caller', 'key');
      chosen.push(readChosen(name, value));
    }
  }
  return {
    names: new Set(entries.map(([name]) => plainFieldName(name.toLowerCase()))),
    chosen,
    addTo(fields, principal) {
      fields.push(...constant);
      for (const { name, fallback, valueFor } of chosen) {
        const value = principal === undefined ? fallback : valueFor(principal);
        if (value !== undefined) fields.push(name.toLowerCase(), value);
      }
    },
  };
}

/** The headers that `identity` sets, as written. */
function namesInIdentity(identity: Field<UpstreamKeys['identity']>): readonly string[] {
  const signed = identity.get(SIGNED) as Field<string | { readonly header: string } | undefined>;
  const header = (signed as Field<{ readonly header: string }>).get('header');
  const name = (header.present ? header : signed).json();
  const claims = identity.entries().flatMap(([key]) => (key === SIGNED ? [] : key));
  return [...claims, ...(typeof name === 'string' ? [name] : [])];
}

/** The key of `identity` that holds the name of a header. */
const SIGNED = 'signed';

type ChoiceField = Field<NonNullable<UpstreamKeys['headers']>[string]>;

function readChosen(name: string, field: ChoiceField): ChosenField {
  const claim = field.get('by').read(claimName) ?? '';
  const values = new Map(
    field
      .get('values')
      .entries()
      .map(([key, value]) => [key, value.read(headerValue) ?? ''] as const),
  );
  const fallback = field.get('default').read(headerValue);
  const read = memberReader(claim);
  const nameIn = (principal: Principal): string | undefined => {
    if (claim === 'client_id' && principal.clientId !== undefined) return principal.clientId;
    return entryName(read?.(principal.exactClaims ?? principal.claims));
  };
  return {
    name,
    claim,
    fallback,
    valueFor(principal) {
      const entry = nameIn(principal);
      return (entry === undefined ? undefined : values.get(entry)) ?? fallback;
    },
  };
}

/**
 * The name of the entry for the value of a claim; undefined: no entry can have it. A number whose digits JavaScript
 * changes is an object here: it would get the entry of another number.
 */
function entryName(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  if (typeof value === 'boolean') return String(value);
  return typeof value === 'number' && Math.abs(value) <= 2 ** 53 ? JSON.stringify(value) : undefined;
}
