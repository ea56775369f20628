import { hopByHop, nominatedBy } from '../http/header-fields.ts';
import type { Call } from '../model/call.ts';
import { Denial } from '../model/denial.ts';
import type { Grant, GrantedCall } from '../model/grant.ts';
import { type CommandField, commandFields } from '../model/route.ts';
import { privateCacheControl, sharedCacheFields } from './private-answers.ts';

/** What of an upstream's header section goes to the client, and what it says of the body. */
export interface ResponseHeaders {
  /** name, value, name, value, … */
  readonly fields: string[];
  readonly hasDate: boolean;
  /** Whether they say how long the body is. */
  readonly hasLength: boolean;
  /** `text/event-stream`: each event goes on as it comes. */
  readonly isEventStream: boolean;
  /** `application/json`. */
  readonly isJson: boolean;
  /** Other than `identity`. */
  readonly isEncoded: boolean;
  /** The upstream's own `Mcp-Session-Id`. */
  readonly sessionId: string | undefined;
}

/** What the gateway says in an answer of an upstream. */
export interface OwnHeaders {
  /** Whether shared caches may keep answers: those of a route that needs no token. */
  readonly isPublic: boolean;
  /** CORS for the page that called; empty for other callers. The upstream's own CORS fields are always dropped. */
  readonly crossOrigin: (call: Call) => Readonly<Record<string, string>>;
  /** Which commands of the upstream's reach the client. */
  readonly allowedCommands: readonly CommandField[];
  /** Whether what the upstream says in `WWW-Authenticate` is its own to say: it got the client's own token. */
  readonly upstreamChallenges: boolean;
  /** The `DPoP-Nonce` for the next proof, RFC 9449 §8.2; undefined where proofs need none. An upstream's is never ours. */
  readonly nonce: (() => string) | undefined;
  /** The `Mcp-Session-Id` that the client sees for the upstream's; undefined for none. */
  readonly sessionId: (theirs: string, grant: Grant) => string | undefined;
}

/** What says something of the bytes of a body, and is wrong once they are changed. */
const aboutBytes = [
  'content-length',
  'content-md5',
  'content-digest',
  'repr-digest',
  'digest',
  'etag',
  'accept-ranges',
];

/** The answer of an upstream to a granted call, before its body. */
interface UpstreamAnswer extends Pick<GrantedCall, 'call' | 'grant'> {
  /** Name, value, name, value, … as received. */
  readonly raw: readonly (Buffer | string)[];
  readonly status: number;
  /** Whether the gateway may change the body on its way. */
  readonly willChange: boolean;
}

/** Cleans the header section of an upstream's answer. */
export type CleanAnswer = (answer: UpstreamAnswer) => ResponseHeaders;

/**
 * Creates what makes the header section for the client out of an upstream's, on every path: requests, streams and
 * WebSocket handshakes. It leaves out what is about the upstream's connection and what only the gateway may say. An event
 * stream goes without a length (some servers send one) and with the word that keeps other proxies from buffering it.
 *
 * What it makes throws {Denial} `upstream.invalid` for a transfer coding other than `chunked`.
 */
export function createCleanAnswer(own: OwnHeaders): CleanAnswer {
  const { isPublic } = own;
  const never = new Set([...hopByHop, 'dpop-nonce', ...commandFields, ...(isPublic ? [] : sharedCacheFields)]);
  for (const name of own.allowedCommands) never.delete(name);
  if (!own.upstreamChallenges) never.add('www-authenticate');

  return ({ raw, status, call, grant, willChange }) => {
    const all: string[] = [];
    const crossOrigin = Object.entries(own.crossOrigin(call));
    let connection = '';
    let coding: string | undefined;
    let contentType = '';
    let contentEncoding = '';
    let sessionId: string | undefined;
    let hasDate = false;
    let hasLength = false;
    let expires = false;
    for (let i = 0; i < raw.length; i += 2) {
      const name = text(raw[i]);
      let value: string | undefined = text(raw[i + 1]);
      const lower = name.toLowerCase();
      if (lower === 'connection') connection = connection === '' ? value : `${connection},${value}`;
      else if (lower === 'transfer-encoding') coding = coding === undefined ? value : `${coding},${value}`;
      if (never.has(lower)) continue;
      if (lower.startsWith('access-control-')) continue;
      if (lower === 'date') hasDate = true;
      else if (lower === 'content-length') hasLength = true;
      else if (lower === 'content-type') contentType = value;
      else if (lower === 'content-encoding') contentEncoding = value;
      else if (lower === 'expires') expires = true;
      else if (lower === 'mcp-session-id') {
        sessionId = value;
        value = own.sessionId(value, grant);
      } else if (!isPublic && lower.endsWith('cache-control')) {
        // Any other is for some shared caches alone, RFC 9213.
        if (lower !== 'cache-control') continue;
        value = privateCacheControl(value);
      }
      if (value !== undefined) all.push(name, value);
    }
    // RFC 9112 §7: the gateway understands this one alone, and would pass on any other as if it were content.
    if (coding !== undefined && status >= 200 && coding.trim().toLowerCase() !== 'chunked')
      throw new Denial('upstream.invalid', 'a transfer coding other than chunked');
    const isEventStream = /^text\/event-stream *(?:;|$)/i.test(contentType);
    const nominated = connection === '' ? undefined : nominatedBy(connection);
    const dropped = nominated === undefined ? [] : [...nominated];
    // RFC 9110 §8.6: no 1xx and no 204 has a length.
    const mayHaveLength = !isEventStream && status !== 204 && status >= 200;
    if (hasLength && !mayHaveLength) dropped.push('content-length');
    if (isEventStream) dropped.push('x-accel-buffering');
    // RFC 9449 §8.2: a stored answer would hand out its nonce again when that has long ended.
    if (own.nonce !== undefined) dropped.push('cache-control');
    // The ids of an MCP stream's events are changed in any case.
    if (willChange || (isEventStream && grant.action.era !== undefined)) dropped.push(...aboutBytes);
    const fields = dropped.length === 0 ? all : without(all, dropped);
    if (isEventStream) fields.push('X-Accel-Buffering', 'no');
    if (expires && !isPublic) fields.push('Cache-Control', 'private');
    for (const [name, value] of crossOrigin) fields.push(name, value);
    if (own.nonce !== undefined) fields.push('DPoP-Nonce', own.nonce(), 'Cache-Control', 'no-store');
    return {
      fields,
      hasDate,
      hasLength: hasLength && mayHaveLength && !willChange,
      isEventStream,
      isJson: /^application\/json *(?:;|$)/i.test(contentType),
      sessionId,
      isEncoded: contentEncoding !== '' && contentEncoding.toLowerCase() !== 'identity',
    };
  };
}

function without(fields: readonly string[], names: readonly string[]): string[] {
  const kept: string[] = [];
  for (let i = 0; i < fields.length; i += 2) {
    const name = fields[i] as string;
    if (!names.includes(name.toLowerCase())) kept.push(name, fields[i + 1] as string);
  }
  return kept;
}

/** RFC 9110 §5.5: field values are octets; latin1 keeps each one. */
function text(part: Buffer | string | undefined): string {
  return typeof part === 'string' ? part : (part?.toString('latin1') ?? '');
}
