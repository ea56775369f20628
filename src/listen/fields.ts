import { connectionOptions } from '../http/header-fields.ts';
import type { Fields } from '../model/call.ts';
import { Denial } from '../model/denial.ts';

/**
 * Fields of which a second one would let two readers choose differently. Node joins or drops duplicates silently, and
 * so do upstreams, each its own way; hence refused, whatever the values (CVE-2025-23167 and its kin).
 */
const singletons = [
  'authorization',
  'access-control-request-headers',
  'access-control-request-method',
  'content-encoding',
  'content-length',
  'content-type',
  'dpop',
  'expect',
  'host',
  'last-event-id',
  'mcp-method',
  'mcp-name',
  'mcp-protocol-version',
  'mcp-session-id',
  'origin',
  'proxy-authorization',
  'transfer-encoding',
  'upgrade',
] as const;

type Singleton = (typeof singletons)[number];

/** Where each of those that are read stands among the singletons. */
const at = {
  authorization: place('authorization'),
  contentEncoding: place('content-encoding'),
  contentLength: place('content-length'),
  contentType: place('content-type'),
  dpop: place('dpop'),
  expect: place('expect'),
  host: place('host'),
  lastEventId: place('last-event-id'),
  mcpMethod: place('mcp-method'),
  mcpName: place('mcp-name'),
  mcpProtocolVersion: place('mcp-protocol-version'),
  mcpSessionId: place('mcp-session-id'),
  origin: place('origin'),
  transferEncoding: place('transfer-encoding'),
  upgrade: place('upgrade'),
};

function place(name: Singleton): number {
  return singletons.indexOf(name);
}

const noSingletons: readonly undefined[] = singletons.map(() => undefined);

/** A header section in which nothing was found. */
export const noFields: Fields = {
  raw: [],
  names: [],
  authorization: undefined,
  connection: undefined,
  contentEncoding: undefined,
  contentLength: undefined,
  contentType: undefined,
  dpop: undefined,
  host: undefined,
  lastEventId: undefined,
  mcpMethod: undefined,
  mcpName: undefined,
  mcpProtocolVersion: undefined,
  mcpSessionId: undefined,
  origin: undefined,
  transferEncoding: undefined,
  upgrade: undefined,
};

/** A field's name as we know it. */
interface Name {
  readonly lower: string;
  /** Its place among the singletons, or -1. */
  readonly singleton: number;
}

/** Bounded, so that callers cannot grow it; names beyond the bound are looked up each time. */
const known = new Map<string, Name>();

function nameOf(spelled: string): Name {
  const found = known.get(spelled);
  if (found !== undefined) return found;
  const lower = spelled.toLowerCase();
  const name = { lower, singleton: placeOf(lower) };
  if (known.size < 1024) known.set(spelled, name);
  return name;
}

function placeOf(name: string): number {
  return (singletons as readonly string[]).indexOf(name);
}

/**
 * Reads the header section of a request.
 *
 * @throws {Denial} `request.duplicate_header` when a field that decides something stands twice, `request.credentials`
 *   when that is `Authorization`; `request.framing` for a transfer coding besides `chunked`, and when `Connection`
 *   nominates a field that a decision rests on, which would then be taken away from the upstream; `request.malformed` without a Host; `request.expectation`.
 */
export function readFields(raw: readonly string[]): Fields {
  const names: string[] = [];
  const found: (string | undefined)[] = noSingletons.slice();
  let connection: string | undefined;
  for (let i = 0; i < raw.length; i += 2) {
    const { lower, singleton } = nameOf(raw[i] as string);
    const value = raw[i + 1] as string;
    names.push(lower);
    if (singleton !== -1) {
      if (found[singleton] !== undefined) throw duplicate(lower);
      found[singleton] = value;
    } else if (lower === 'connection') {
      connection = connection === undefined ? value : `${connection},${value}`;
    }
  }
  // RFC 9112 §3.2: MUST be answered with a 400; HTTP/1.0 too, since upstreams are always told a host.
  if (found[at.host] === undefined) throw new Denial('request.malformed', 'no Host header');
  const expectation = found[at.expect];
  if (expectation !== undefined && expectation.toLowerCase() !== '100-continue') {
    throw new Denial('request.expectation', 'an expectation other than 100-continue');
  }
  const coding = found[at.transferEncoding];
  // RFC 9112 §6.1: whatever else was applied to the body would be taken off its label here, and stay on it.
  if (coding !== undefined && coding.toLowerCase() !== 'chunked') {
    throw new Denial('request.framing', 'a transfer coding other than chunked');
  }
  if (connection !== undefined) requireHarmless(connection);
  return {
    raw,
    names,
    authorization: found[at.authorization],
    connection,
    contentEncoding: found[at.contentEncoding],
    contentLength: found[at.contentLength],
    contentType: found[at.contentType],
    dpop: found[at.dpop],
    host: found[at.host],
    lastEventId: found[at.lastEventId],
    mcpMethod: found[at.mcpMethod],
    mcpName: found[at.mcpName],
    mcpProtocolVersion: found[at.mcpProtocolVersion],
    mcpSessionId: found[at.mcpSessionId],
    origin: found[at.origin],
    transferEncoding: coding,
    upgrade: found[at.upgrade],
  };
}

function duplicate(name: string): Denial {
  // RFC 6750 §2: clients MUST NOT use more than one method to transmit the token in each request.
  if (name === 'authorization') return new Denial('request.credentials', 'two Authorization headers');
  return new Denial('request.duplicate_header', `two ${name} headers`);
}

/** RFC 9110 §7.6.1: `Connection` MUST NOT nominate a field that is intended for all recipients. */
function requireHarmless(connection: string): void {
  for (const name of connectionOptions(connection)) {
    if (name !== 'upgrade' && name !== 'transfer-encoding' && placeOf(name) !== -1) {
      throw new Denial('request.framing', `Connection nominates ${name}`);
    }
  }
}
