import { hopByHop, nominatedBy } from '../../lib/http/header-fields.ts';
import type { Call } from '../../model/call.ts';
import { remembered } from '../../lib/remembered.ts';
import { Denial } from '../../model/denial.ts';
import type { Grant, GrantedCall } from '../../model/grant.ts';
import { type CommandField, commandFields } from '../../model/route.ts';

/** The header section for the client, and what it says about the body. */
export interface ResponseHeaders {
  /** Name, value, name, value, … */
  readonly fields: string[];
  readonly hasDate: boolean;
  /** Whether the fields give the length of the body. */
  readonly hasLength: boolean;
  /** `text/event-stream`: each event is forwarded as it arrives. */
  readonly isEventStream: boolean;
  /** `application/json`. */
  readonly isJson: boolean;
  /** Whether the body has an encoding other than `identity`. */
  readonly isEncoded: boolean;
  /** The upstream's own `Mcp-Session-Id`. */
  readonly sessionId: string | undefined;
}

/** The fields that the gateway itself sets in an answer of an upstream. */
export interface OwnHeaders {
  /** Whether shared caches may store answers: only on a route that needs no token. */
  readonly isPublic: boolean;
  /** The CORS fields for a page; empty for other callers. The upstream's own CORS fields are always dropped. */
  readonly crossOrigin: (call: Call) => Readonly<Record<string, string>>;
  /** The command fields of the upstream that reach the client. */
  readonly allowedCommands: readonly CommandField[];
  /**
   * Whether `WWW-Authenticate` of the upstream reaches the client: only if the upstream got the client's own token, or
   * is the front door.
   */
  readonly upstreamChallenges: boolean;
  /** The names of cookies that the upstream may not set. */
  readonly reservedCookies: RegExp;
  /**
   * The `DPoP-Nonce` for the next proof, RFC 9449 §8.2; undefined if proofs need none. The upstream's own is dropped.
   */
  readonly nonce: (() => string) | undefined;
  /** Makes a `Location` that the client can follow; undefined leaves it as it is. */
  readonly location: ((value: string) => string) | undefined;
  /** Makes the `Mcp-Session-Id` that the client sees from the upstream's; undefined drops it. */
  readonly sessionId: (theirs: string, grant: Grant) => string | undefined;
}

/** Fields about the bytes of a body, which are wrong once the body is changed. */
const aboutBytes = [
  'content-length',
  'content-md5',
  'content-digest',
  'repr-digest',
  'digest',
  'etag',
  'accept-ranges',
];

/**
 * A charset that neither JSON nor event streams can have (RFC 8259 §8.1, WHATWG HTML §9.2.5). A client that believes it
 * would read another text than the gateway.
 */
const otherCharset = /^(application\/json|text\/event-stream) *;(?! *charset="?utf-8"? *$).*$/i;

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
 * Creates the cleaning of upstream header sections, for requests, streams and WebSocket handshakes alike. It drops the
 * fields about the upstream's connection and those that only the gateway may set. An event stream gets no length (some
 * servers send one), and the field that keeps other proxies from buffering it.
 *
 * @returns a function that throws {Denial} `upstream.invalid` for a transfer coding other than `chunked`.
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
    // A proxy in front reads its own id back; in place of the upstream's, the one that the log has.
    let hasRequestId = call.id !== call.decision;
    for (let i = 0; i < raw.length; i += 2) {
      const name = text(raw[i]);
      let value: string | undefined = text(raw[i + 1]);
      const lower = lowerCase(name);
      if (lower === 'connection') connection = connection === '' ? value : `${connection},${value}`;
      else if (lower === 'transfer-encoding') coding = coding === undefined ? value : `${coding},${value}`;
      if (never.has(lower)) continue;
      if (lower.startsWith('access-control-')) continue;
      if (lower === 'x-request-id') {
        hasRequestId = true;
        continue;
      }
      if (lower === 'date') hasDate = true;
      else if (lower === 'content-length') hasLength = true;
      else if (lower === 'content-type') {
        // Readers take either of two.
        contentType += contentType === '' ? value : `, ${value}`;
        if (willChange) value = value.replace(otherCharset, '$1');
      } else if (lower === 'content-encoding') contentEncoding += contentEncoding === '' ? value : `, ${value}`;
      else if (lower === 'expires') expires = true;
      else if (own.location !== undefined && (lower === 'location' || lower === 'content-location'))
        value = own.location(value);
      else if (lower === 'set-cookie') {
        // Some clients read a list of cookies in one field.
        if (value.split(',').some((cookie) => own.reservedCookies.test(cookieSet(cookie)))) continue;
      } else if (lower === 'mcp-session-id') {
        sessionId = value;
        value = own.sessionId(value, grant);
      } else if (!isPublic && lower.endsWith('cache-control')) {
        // The others are for some shared caches only, RFC 9213.
        if (lower !== 'cache-control') continue;
        value = privateCacheControl(value);
      }
      if (value !== undefined) all.push(name, value);
    }
    // RFC 9112 §7: the gateway decodes only this one, and would forward any other as if it were content.
    if (coding !== undefined && status >= 200 && coding.trim().toLowerCase() !== 'chunked')
      throw new Denial('upstream.invalid', 'a transfer coding other than chunked');
    const isEventStream = /^text\/event-stream *(?:;|$)/i.test(contentType);
    const nominated = connection === '' ? undefined : nominatedBy(connection);
    const dropped = nominated === undefined ? [] : [...nominated];
    // RFC 9110 §8.6: no 1xx and no 204 has a length.
    const mayHaveLength = !isEventStream && status !== 204 && status >= 200;
    if (hasLength && !mayHaveLength) dropped.push('content-length');
    if (isEventStream) dropped.push('x-accel-buffering');
    // RFC 9449 §8.2: a stored answer would repeat its nonce after that has expired.
    if (own.nonce !== undefined) dropped.push('cache-control');
    // The event ids of a stream that can be resumed are always changed.
    if (willChange || (isEventStream && grant.action.era === 'legacy')) dropped.push(...aboutBytes);
    const fields = dropped.length === 0 ? all : without(all, dropped);
    if (isEventStream) fields.push('X-Accel-Buffering', 'no');
    if (expires && !isPublic) fields.push('Cache-Control', 'private');
    if (hasRequestId) fields.push('X-Request-Id', call.id);
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

/**
 * The name of the cookie that a `Set-Cookie` sets, as the browser sends it back: RFC 6265bis §5.6 ignores white space
 * before it, and a cookie without a name is sent as its value alone, which reads as a name.
 */
function cookieSet(value: string): string {
  return (
    value
      .split(';', 1)[0]
      ?.replace(/^[\s=]+/, '')
      .split('=', 1)[0]
      ?.trim() ?? ''
  );
}

function without(fields: readonly string[], names: readonly string[]): string[] {
  const kept: string[] = [];
  for (let i = 0; i < fields.length; i += 2) {
    const name = fields[i] as string;
    if (!names.includes(name.toLowerCase())) kept.push(name, fields[i + 1] as string);
  }
  return kept;
}

const lowerCase = remembered((name) => name.toLowerCase());

/** RFC 9110 §5.5: field values are octets; latin1 keeps each one. */
function text(part: Buffer | string | undefined): string {
  return typeof part === 'string' ? part : (part?.toString('latin1') ?? '');
}

/** Fields for shared caches only, in lower case. Those of RFC 9213 end in `cache-control` and are not listed. */
const sharedCacheFields: readonly string[] = ['edge-control', 'surrogate-control', 'x-accel-expires'];

interface Directive {
  readonly name: string;
  /** With its argument, as received. */
  readonly text: string;
}

/** RFC 9111 §5.2, up to the next directive. */
const directive = /[\t ]*([^\s"(),/:;<=>?@[\\\]{}]+)([\t ]*=[\t ]*(?:"(?:[^"\\]|\\.)*"|[^\s",]*))?[\t ]*(?:,|$)/y;
const empty = /[\t ]*(?:,|$)/y;

/** The directives that make a cache store an answer all contain one of these; most answers have none. */
const invites = /public|age|revalidate|stale/i;

/**
 * Replaces `public` and `s-maxage` in a `Cache-Control` value with `private`, so that no shared cache stores the
 * answer.
 */
export function privateCacheControl(value: string): string {
  if (!invites.test(value)) return value;
  const directives = directivesOf(value);
  // Two caches could read a malformed value differently.
  if (directives === undefined) return 'private, no-store';
  const kept = directives.filter(({ name }) => name !== 'public' && name !== 's-maxage');
  // `private` with an argument applies only to some fields of the answer.
  const isPrivate = kept.some(({ name, text }) => name === 'no-store' || (name === 'private' && !text.includes('=')));
  if (isPrivate && kept.length === directives.length) return value;
  const others = kept.filter(({ name }) => name !== 'private').map(({ text }) => text);
  return ['private', ...others].join(', ');
}

function directivesOf(value: string): readonly Directive[] | undefined {
  const found: Directive[] = [];
  for (let at = 0; at < value.length;) {
    empty.lastIndex = at;
    directive.lastIndex = at;
    const match = empty.test(value) ? undefined : directive.exec(value);
    if (match === null) return undefined;
    if (match !== undefined)
      found.push({ name: (match[1] as string).toLowerCase(), text: `${match[1]}${match[2] ?? ''}` });
    at = match === undefined ? empty.lastIndex : directive.lastIndex;
  }
  return found;
}
