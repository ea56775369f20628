import { lastHead } from '../support/raw.ts';
import { modernRequest } from '../worlds/mcp.ts';

/** A POST to the MCP route, as the last request on its connection. */
export function post(authorization: string, body: string | Buffer, ...lines: readonly string[]): Buffer {
  const bytes = Buffer.from(body);
  const type = lines.some((line) => /^content-type:/i.test(line)) ? [] : ['Content-Type: application/json'];
  const length = `Content-Length: ${bytes.length}`;
  return Buffer.concat([Buffer.from(lastHead('POST /mcp', authorization, ...type, length, ...lines), 'latin1'), bytes]);
}

/** A POST of a request of MCP 2026-07-28 to the MCP route. */
export function modernPost(authorization: string, method: string, params: object, ...lines: readonly string[]): Buffer {
  const { message, headers } = modernRequest(method, { ...params });
  const own = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return post(authorization, JSON.stringify(message), ...own, ...lines);
}

/** A GET with a token, as the last request on its connection. */
export function get(path: string, token: string): string {
  return lastHead(`GET ${path}`, `Authorization: Bearer ${token}`);
}

/** The text of a call of a tool. */
export function callOf(name: string, args: object = {}, id: unknown = 1): string {
  return JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: args } });
}

/** The JSON of an answer's body. */
export function bodyOf(answer: string | undefined): unknown {
  const body = (answer ?? '').slice((answer ?? '').indexOf('\r\n\r\n') + 4);
  return JSON.parse(Buffer.from(body, 'latin1').toString());
}

/** What an answer says in a field; undefined where it does not. */
export function fieldOf(answer: string | undefined, name: string): string | undefined {
  return new RegExp(`^${name}: (.*)\r$`, 'im').exec(answer ?? '')?.[1];
}

/** The header fields of a WebSocket handshake, but Connection. */
export const handshake = [
  'Upgrade: websocket',
  'Sec-WebSocket-Version: 13',
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
];

/** The question of a proxy about a GET of `target`. */
export function question(target: string, ...lines: readonly string[]): string {
  const asked = ['X-Forwarded-Method: GET', `X-Forwarded-Uri: ${target}`, 'X-Forwarded-Host: gateway.test'];
  return lastHead('GET /_sallyport/authorize', ...asked, ...lines);
}
