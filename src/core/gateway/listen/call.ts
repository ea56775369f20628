import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { TraceContext } from '../../lib/http/trace.ts';
import { readTraceContext } from '../../lib/http/trace-context.ts';
import { plainAddress } from '../../lib/ip-address.ts';
import type { Call } from '../../model/call.ts';
import { Denial } from '../../model/denial.ts';
import { type Fields, decisiveFields } from '../../model/fields.ts';
import type { CertificateOf } from './certificates.ts';
import type { ClientBehind } from './trusted-proxies.ts';
import { connectionOptions } from '../../lib/http/header-fields.ts';
import { remembered } from '../../lib/remembered.ts';

/** Splits a request target into path and query, and refuses every spelling but the canonical one. */
export type CanonicalTarget = (target: string) => Pick<Call, 'path' | 'query'>;

/** A call as it arrives: it has an id and a response, and nothing yet that a decision could rest on. */
export function arrive(request: IncomingMessage, response: ServerResponse, certificateOf: CertificateOf): Call {
  const peer = plainAddress(request.socket.remoteAddress ?? '');
  const decision = randomUUID();
  return {
    id: decision,
    decision,
    startedAt: performance.now(),
    method: request.method ?? '',
    path: '',
    query: '',
    fields: framing(request),
    peer,
    client: peer,
    forwardedFor: peer,
    certificateThumbprint: certificateOf(request.socket),
    trace: traceOf(request),
    request,
    response,
  };
}

/** The two fields that a refusal needs, to know whether a body is still to come. */
function framing({ headers }: IncomingMessage): Fields {
  const contentLength = headers['content-length'];
  const transferEncoding = headers['transfer-encoding'];
  if (contentLength === undefined && transferEncoding === undefined) return noFields;
  return { ...noFields, contentLength, transferEncoding };
}

/** Read at arrival, so that a call that is refused early belongs to its trace too. */
function traceOf({ headers }: IncomingMessage): TraceContext | undefined {
  // Node joins fields of one name by commas, as RFC 9110 §5.3 says.
  const { traceparent, tracestate, connection } = headers;
  if (typeof traceparent !== 'string') return undefined;
  // RFC 9110 §7.6.1: it was for this hop only.
  if (connection !== undefined && /(?:^|,)[ \t]*trace(?:parent|state)[ \t]*(?:,|$)/i.test(connection)) return undefined;
  return readTraceContext(traceparent, tracestate?.toString());
}

/**
 * The call with its header section and its canonical target, and with the client that a trusted proxy reports.
 */
export function canonicalCall(
  arrived: Call,
  canonicalTarget: CanonicalTarget,
  clientBehind: ClientBehind | undefined,
): Call {
  const { request, peer } = arrived;
  const fields = headerSection(request);
  const { path, query } = canonicalTarget(request.url ?? '');
  return { ...arrived, ...clientBehind?.(peer, fields), path, query, fields };
}

/** Reads the header section of a request of HTTP/1.x. */
export function headerSection(request: IncomingMessage): Fields {
  // Node's parser accepts HTTP/0.9 and HTTP/2.0.
  if (request.httpVersionMajor !== 1) throw new Denial('request.malformed', `HTTP/${request.httpVersion}`);
  // RFC 9112 §6.1: MUST be treated as if the framing is faulty. A hop that knows only HTTP/1.0 ends the body elsewhere.
  if (request.httpVersionMinor === 0 && request.headers['transfer-encoding'] !== undefined) {
    throw new Denial('request.framing', 'a transfer coding in HTTP/1.0');
  }
  return readFields(request.rawHeaders);
}

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
 * @throws {Denial} `request.duplicate_header` for a second decisive field besides `DPoP`, `request.credentials` if that
 *   is `Authorization`; `request.framing` for a transfer coding besides `chunked`, and if `Connection` nominates a
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
      if ((found & bit) !== 0 && member !== 'dpop') throw duplicate(lower);
      // RFC 9110 §5.3. A list is no proof: where the token needs one, the refusal has a challenge (RFC 9449 §7.1).
      fields[member] = (found & bit) === 0 ? value : `${fields[member]}, ${value}`;
      found |= bit;
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
