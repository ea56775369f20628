import { connectionOptions } from '../../lib/http/header-fields.ts';
import { remembered } from '../../lib/remembered.ts';
import { Denial } from '../../model/denial.ts';
import { decisiveFields, type Fields } from '../../model/fields.ts';

type Decisive = keyof typeof decisiveFields;

const decisive = Object.keys(decisiveFields) as readonly Decisive[];
const memberByName: ReadonlyMap<string, Decisive> = new Map(decisive.map((member) => [decisiveFields[member], member]));

/** A header section without fields. */
export const noFields: Fields = {
  raw: [],
  names: [],
  connection: undefined,
  ...(Object.fromEntries(decisive.map((member) => [member, undefined])) as Record<Decisive, undefined>),
};

/** The name of a field, and its member of {@link Fields} if it is decisive. */
interface Name {
  readonly lower: string;
  readonly member: Decisive | undefined;
  /** One bit for each member: a look-up of a member by its name takes longer. */
  readonly bit: number;
}

const nameOf = remembered((spelled): Name => {
  const lower = spelled.toLowerCase();
  const member = memberByName.get(lower);
  return { lower, member, bit: member === undefined ? 0 : 1 << decisive.indexOf(member) };
});

/**
 * Reads the header section of a request.
 *
 * @throws {Denial} `request.duplicate_header` for a second decisive field, `request.credentials` if that is
 *   `Authorization`; `request.framing` for a transfer coding besides `chunked`, and if `Connection` nominates a
 *   decisive field, which the upstream would then not get; `request.malformed` without a `Host`; `request.expectation`.
 */
export function readFields(raw: readonly string[]): Fields {
  const names: string[] = [];
  const fields: { -readonly [Key in keyof Fields]: Fields[Key] } = { ...noFields, raw, names };
  let found = 0;
  for (let i = 0; i < raw.length; i += 2) {
    const { lower, member, bit } = nameOf(raw[i] as string);
    const value = raw[i + 1] as string;
    names.push(lower);
    if (member !== undefined) {
      if ((found & bit) !== 0) throw duplicate(lower);
      found |= bit;
      fields[member] = value;
    } else if (lower === 'connection') {
      fields.connection = fields.connection === undefined ? value : `${fields.connection},${value}`;
    }
  }
  // RFC 9112 §3.2: MUST be answered with a 400; for HTTP/1.0 too, because an upstream always gets a host.
  if (fields.host === undefined) throw new Denial('request.malformed', 'no Host header');
  if (fields.expect !== undefined && fields.expect.toLowerCase() !== '100-continue') {
    throw new Denial('request.expectation', 'an expectation other than 100-continue');
  }
  // RFC 9112 §6.1: the field is not forwarded, so the upstream would not learn of any other coding of the body.
  if (fields.transferEncoding !== undefined && fields.transferEncoding.toLowerCase() !== 'chunked') {
    throw new Denial('request.framing', 'a transfer coding other than chunked');
  }
  if (fields.connection !== undefined) requireHarmless(fields.connection);
  return fields;
}

function duplicate(name: string): Denial {
  // RFC 6750 §2: clients MUST NOT use more than one method to transmit the token in each request.
  if (name === 'authorization') return new Denial('request.credentials', 'two Authorization headers');
  return new Denial('request.duplicate_header', `two ${name} headers`);
}

/** Options of `Connection` that are themselves names of such fields, RFC 9110 §7.8 and RFC 9112 §6.1. */
const harmless: ReadonlySet<string> = new Set(['transfer-encoding', 'upgrade']);

/** RFC 9110 §7.6.1: `Connection` MUST NOT nominate a field that is intended for all recipients. */
function requireHarmless(connection: string): void {
  for (const name of connectionOptions(connection)) {
    if (memberByName.has(name) && !harmless.has(name)) {
      throw new Denial('request.framing', `Connection nominates ${name}`);
    }
  }
}
