import { exchangeRaw } from '../support/raw.ts';
import { parseAnswer, type Answer } from './world.ts';

/** A request as a client sends it. */
interface Asked {
  readonly method?: string;
  readonly target?: string;
  readonly host?: string;
  /** Header lines of the client. */
  readonly lines?: readonly string[];
  readonly body?: string;
}

/** Asks about a request. */
export type Ask = (url: string, asked: Asked) => Promise<Answer>;

/** A proxy may try several times before it gives up. */
const PATIENCE_MS = 10_000;

/** Sends a question with these header lines. `Connection: close` unless one of them says otherwise. */
export async function question(url: string, requestLine: string, lines: readonly string[], body = ''): Promise<Answer> {
  const framing = body === '' ? [] : [`Content-Length: ${Buffer.byteLength(body)}`];
  const connection = lines.some((line) => /^connection:/i.test(line)) ? [] : ['Connection: close'];
  const head = [`${requestLine} HTTP/1.1`, ...connection, ...framing, ...lines].join('\r\n');
  return parseAnswer(await exchangeRaw(url, `${head}\r\n\r\n${body}`, PATIENCE_MS));
}

const path = '/_sallyport/authorize';

/** As Traefik asks with `forwardBody`, and Caddy without a body. Traefik's source: pkg/middlewares/auth/forward.go. */
export const traefik: Ask = (url, { method = 'GET', target = '/', host = 'gateway.test', lines = [], body }) =>
  question(
    url,
    `GET ${path}`,
    [
      'Host: 127.0.0.1:8081',
      ...lines,
      'X-Forwarded-For: 192.0.2.1',
      `X-Forwarded-Method: ${method}`,
      'X-Forwarded-Proto: https',
      `X-Forwarded-Host: ${host}`,
      `X-Forwarded-Uri: ${target}`,
    ],
    body,
  );

/** As nginx asks by `deploy/forward-auth/nginx.conf`. */
export const nginx: Ask = (url, { method = 'GET', target = '/', host = 'gateway.test', lines = [] }) =>
  question(url, `GET ${path}`, [
    'Host: sallyport_authorize',
    `X-Original-Method: ${method}`,
    `X-Original-URI: ${target}`,
    `X-Forwarded-Host: ${host}`,
    'X-Forwarded-For: 192.0.2.1',
    ...lines,
  ]);

/** As Envoy asks: ext_authz_http_impl.cc prefixes the path, and keeps method, authority and body. */
export const envoy: Ask = (url, { method = 'GET', target = '/', host = 'gateway.test', lines = [], body }) =>
  question(
    url,
    `${method} ${path}${target}`,
    [`Host: ${host}`, ...(body === undefined ? ['Content-Length: 0'] : []), ...lines, 'X-Forwarded-For: 192.0.2.1'],
    body,
  );
