import type { IncomingMessage } from 'node:http';
import { connectionOptions } from '../../core/lib/http/header-fields.ts';
import type { Call } from '../../core/model/call.ts';
import { Denial } from '../../core/model/denial.ts';
import { type Fields, fieldValues } from '../../core/model/fields.ts';
import { type CanonicalTarget, headerSection } from '../../core/gateway/listen/call.ts';
import { reasons } from './reasons.ts';
import type { ClientBehind } from '../../core/gateway/listen/trusted-proxies.ts';

const AUTHORIZE_PATH = '/_sallyport/authorize';

interface OriginalRequest {
  readonly method: string;
  readonly target: string;
  readonly host: string | undefined;
}

interface Convention {
  readonly method: string;
  readonly target: string;
}

/** The fields of Traefik and Caddy, and of HAProxy with the script in `deploy/forward-auth/`. */
const forwarded: Convention = { method: 'x-forwarded-method', target: 'x-forwarded-uri' };
/** The fields that nginx is configured to send. */
const original: Convention = { method: 'x-original-method', target: 'x-original-uri' };
const HOST = 'x-forwarded-host';

/**
 * RFC 9110 §9.1, without `get` and the like: proxies forward them, and upstreams read them as `GET` (Django, Flask).
 * The gateway's own listener does not take them either.
 */
const token = /^[!#$%&'*+\-.^_`|~0-9A-Z]+$/;
/** The options of `Connection` that a question may have. */
const plainConnection = /^(?:close|keep-alive|upgrade|te)?$/;

/**
 * The call for the request that a proxy asks about. Its method, target and host are those of that request, not of the
 * question.
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
 * The request that a proxy asks about. At {@link AUTHORIZE_PATH} itself, the fields of one convention describe it: all
 * of them must be there, each once. Below that path the question is the request itself, as Envoy asks.
 *
 * @throws {Denial} `route.unknown` for any other path. `forward_auth.request` if a field is missing or duplicate, or
 *   if there are fields of two conventions: one of them would be the client's, because proxies forward fields that they
 *   do not set.
 */
function originalRequest(request: IncomingMessage, fields: Fields): OriginalRequest {
  const { url = '', method = '' } = request;
  requirePlainConnection(fields.connection);
  const used = [forwarded, original].filter(({ method, target }) =>
    fields.names.some((name) => name === method || name === target),
  );
  if (url.startsWith(`${AUTHORIZE_PATH}/`)) {
    if (used.length > 0) throw unclear('the question has a path of its own, and fields that name another request');
    return { method, target: url.slice(AUTHORIZE_PATH.length), host: fields.host };
  }
  // Caddy keeps the query of the client's request.
  if (url.split('?', 1)[0] !== AUTHORIZE_PATH)
    throw new Denial('route.unknown', `questions are asked at ${AUTHORIZE_PATH}`);
  const [convention, second] = used;
  if (convention === undefined) throw unclear('no field names the request');
  if (second !== undefined) throw unclear('x-forwarded-* and x-original-* fields both name a request');
  const named = {
    method: only(fields, convention.method),
    target: only(fields, convention.target),
    host: only(fields, HOST),
  };
  if (!token.test(named.method)) throw unclear(`${convention.method} is no method in capitals`);
  if (named.method === 'CONNECT') throw new Denial('request.target', 'CONNECT');
  return named;
}

/** Requires that `Connection` nominates no field: such a field is for the proxy alone, RFC 9110 §7.6.1. */
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
  return new Denial(reasons['forward_auth.request'], what);
}
