import { exchangeRaw } from '../support/raw.ts';

/** An answer as bytes say it. */
export interface Answer {
  readonly status: number;
  /** By lower-case name; several of one name as a list. */
  readonly headers: ReadonlyMap<string, readonly string[]>;
  readonly body: string;
}

/** Reads an answer that is whole. */
function parseAnswer(text: string): Answer {
  const end = text.indexOf('\r\n\r\n');
  const [statusLine = '', ...lines] = text.slice(0, end).split('\r\n');
  const headers = new Map<string, string[]>();
  for (const line of lines) {
    const colon = line.indexOf(':');
    const name = line.slice(0, colon).toLowerCase();
    headers.set(name, [...(headers.get(name) ?? []), line.slice(colon + 1).trim()]);
  }
  return { status: Number(statusLine.split(' ')[1]), headers, body: text.slice(end + 4) };
}

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

/** Lets Traefik ask about a message that is posted to `/mcp`. */
export function traefikCall(
  { forwardAuthUrl }: { readonly forwardAuthUrl: string },
  token: string,
  body: string,
  ...more: readonly string[]
): Promise<Answer> {
  const lines = [`Authorization: Bearer ${token}`, 'Content-Type: application/json', ...more];
  return traefik(forwardAuthUrl, { method: 'POST', target: '/mcp', lines, body });
}

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
