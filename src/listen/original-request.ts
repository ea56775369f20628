import type { IncomingMessage } from 'node:http';
import { connectionOptions } from '../http/header-fields.ts';
import type { Call } from '../model/call.ts';
import { Denial } from '../model/denial.ts';
import { type Fields, fieldValues } from '../model/fields.ts';
import { type CanonicalTarget, headerSection } from './call.ts';
import type { ClientBehind } from './trusted-proxies.ts';

/** Where proxies ask whether a request may pass. */
const AUTHORIZE_PATH = '/_sallyport/authorize';

/** A request as a proxy tells of it: what the client sent, and what the proxy will forward. */
interface OriginalRequest {
  readonly method: string;
  readonly target: string;
  readonly host: string | undefined;
}

/** One way in which proxies tell of a request, by the fields that do nothing else. */
interface Convention {
  readonly method: string;
  readonly target: string;
}

/** Traefik and Caddy by themselves; HAProxy by our script. */
const forwarded: Convention = { method: 'x-forwarded-method', target: 'x-forwarded-uri' };
/** nginx, by its configuration. */
const original: Convention = { method: 'x-original-method', target: 'x-original-uri' };
const HOST = 'x-forwarded-host';

/** RFC 9110 §9.1. */
const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** All that `Connection` has to say to a proxy's question. */
const plainConnection = /^(?:close|keep-alive|upgrade|te)?$/;

/**
 * A call for the request that a proxy asks about, with everything that the proxy shows of it: what is found canonical is
 * its target, not the question's.
 *
 * @throws {Denial} as {@link originalRequest}.
 */
export function originalCall(
  arrived: Call,
  canonicalTarget: CanonicalTarget,
  clientBehind: ClientBehind | undefined,
): Call {
  const { request, peer } = arrived;
  const fields = headerSection(request);
  const { method, target, host } = originalRequest(request, fields);
  const { path, query } = canonicalTarget(target);
  return { ...arrived, ...clientBehind?.(peer, fields), method, path, query, fields: { ...fields, host } };
}

/**
 * The request that a proxy asks about. At {@link AUTHORIZE_PATH} itself it is told by the fields of one convention, all
 * of them there and each of them once; below that path the question is the request itself, as Envoy asks.
 *
 * @throws {Denial} `route.unknown` for any other path. `forward_auth.request` where something is missing, stands twice,
 *   or two conventions meet: of these one would be the client's, and proxies hand on what they do not set.
 */
function originalRequest(request: IncomingMessage, fields: Fields): OriginalRequest {
  const { url = '', method = '' } = request;
  requirePlainConnection(fields.connection);
  const spoken = [forwarded, original].filter(({ method, target }) =>
    fields.names.some((name) => name === method || name === target),
  );
  if (url.startsWith(`${AUTHORIZE_PATH}/`)) {
    if (spoken.length > 0) throw unclear('the question has a path of its own, and fields that name another request');
    return { method, target: url.slice(AUTHORIZE_PATH.length), host: fields.host };
  }
  // Caddy keeps the query of the client's request.
  if (url.split('?', 1)[0] !== AUTHORIZE_PATH)
    throw new Denial('route.unknown', `questions are asked at ${AUTHORIZE_PATH}`);
  const [convention, second] = spoken;
  if (convention === undefined) throw unclear('no field names the request');
  if (second !== undefined) throw unclear('x-forwarded-* and x-original-* fields both name a request');
  const named = {
    method: only(fields, convention.method),
    target: only(fields, convention.target),
    host: only(fields, HOST),
  };
  if (!token.test(named.method)) throw unclear(`${convention.method} is no method`);
  if (named.method === 'CONNECT') throw new Denial('request.target', 'CONNECT');
  return named;
}

/** A field that `Connection` nominates is for the next hop alone, RFC 9110 §7.6.1; who else reads it reads too much. */
function requirePlainConnection(connection: string | undefined): void {
  const options = connection === undefined ? [] : connectionOptions(connection);
  if (!options.every((option) => plainConnection.test(option))) {
    throw new Denial('request.framing', 'Connection nominates a field of the question');
  }
}

function only(fields: Fields, name: string): string {
  const [value = '', second] = fieldValues(fields, name);
  if (value === '') throw unclear(`${name} is missing`);
  if (second !== undefined) throw unclear(`two ${name} fields`);
  return value;
}

function unclear(what: string): Denial {
  return new Denial('forward_auth.request', what);
}
