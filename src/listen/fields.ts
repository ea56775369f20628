import { Denial } from '../model/denial.ts';
import type { Fields } from '../model/call.ts';

/**
 * Fields of which a second one would let two readers choose differently. Node joins or drops duplicates silently, and
 * so do upstreams, each its own way; hence refused, whatever the values (CVE-2025-23167 and its kin).
 */
const singletons = new Set([
  'authorization',
  'access-control-request-headers',
  'access-control-request-method',
  'content-encoding',
  'content-length',
  'content-type',
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
]);

/** A header section in which nothing was found. */
export const noFields: Fields = {
  raw: [],
  names: [],
  authorization: undefined,
  connection: undefined,
  contentEncoding: undefined,
  contentLength: undefined,
  contentType: undefined,
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

/** Bounded, so that callers cannot grow it; names beyond the bound are lower-cased each time. */
const lowerCased = new Map<string, string>();

function lowerCase(name: string): string {
  const known = lowerCased.get(name);
  if (known !== undefined) return known;
  const lower = name.toLowerCase();
  if (lowerCased.size < 1024) lowerCased.set(name, lower);
  return lower;
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
  const found: Record<string, string | undefined> = {};
  let connection: string | undefined;
  for (let i = 0; i < raw.length; i += 2) {
    const name = lowerCase(raw[i] as string);
    const value = raw[i + 1] as string;
    names.push(name);
    if (name === 'connection') {
      connection = connection === undefined ? value : `${connection},${value}`;
      continue;
    }
    if (!singletons.has(name)) continue;
    if (found[name] !== undefined) throw duplicate(name);
    found[name] = value;
  }
  // RFC 9112 §3.2: MUST be answered with a 400; HTTP/1.0 too, since upstreams are always told a host.
  if (found['host'] === undefined) throw new Denial('request.malformed', 'no Host header');
  if (found['expect'] !== undefined && found['expect'].toLowerCase() !== '100-continue') {
    throw new Denial('request.expectation', 'an expectation other than 100-continue');
  }
  const coding = found['transfer-encoding'];
  // RFC 9112 §6.1: whatever else was applied to the body would be taken off its label here, and stay on it.
  if (coding !== undefined && coding.toLowerCase() !== 'chunked') {
    throw new Denial('request.framing', 'a transfer coding other than chunked');
  }
  if (connection !== undefined) requireHarmless(connection);
  return {
    raw,
    names,
    authorization: found['authorization'],
    connection,
    contentEncoding: found['content-encoding'],
    contentLength: found['content-length'],
    contentType: found['content-type'],
    host: found['host'],
    lastEventId: found['last-event-id'],
    mcpMethod: found['mcp-method'],
    mcpName: found['mcp-name'],
    mcpProtocolVersion: found['mcp-protocol-version'],
    mcpSessionId: found['mcp-session-id'],
    origin: found['origin'],
    transferEncoding: coding,
    upgrade: found['upgrade'],
  };
}

function duplicate(name: string): Denial {
  // RFC 6750 §2: clients MUST NOT use more than one method to transmit the token in each request.
  if (name === 'authorization') return new Denial('request.credentials', 'two Authorization headers');
  return new Denial('request.duplicate_header', `two ${name} headers`);
}

/** RFC 9110 §7.6.1: `Connection` MUST NOT nominate a field that is intended for all recipients. */
function requireHarmless(connection: string): void {
  for (const option of connection.split(',')) {
    const name = option.trim().toLowerCase();
    if (name !== 'upgrade' && name !== 'transfer-encoding' && singletons.has(name)) {
      throw new Denial('request.framing', `Connection nominates ${name}`);
    }
  }
}
