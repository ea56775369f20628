/**
 * An upstream and an authorization server, in a process of their own. Opaque tokens that begin with `good-` are active.
 * Sends the addresses to its parent, and ends with it.
 *
 * @module
 */
import { createServer, type ServerResponse } from 'node:http';
import { exportJWK } from 'jose';
import { listen } from '../../demo/listen.ts';
import { createKey, startIssuer } from '../support/issuer.ts';
import { AUDIENCE, TOOLS, type Places } from './world.ts';

const tools = Array.from({ length: TOOLS }, (_, index) => ({
  name: `tool_${index}`,
  description: 'One of many',
  inputSchema: { type: 'object' },
}));
const list = JSON.stringify({ jsonrpc: '2.0', id: 1, result: { tools } });

const key = await createKey('k1', 'ES256');
const issuer = await startIssuer(0, key);
issuer.intercept = (request, response, body) => {
  issuer.requests.length = 0;
  if (request.url !== '/introspect') return false;
  const token = new URLSearchParams(body).get('token') ?? '';
  const exp = Math.floor(Date.now() / 1000) + 3600;
  const answer = { active: true, sub: token, aud: AUDIENCE, scope: 'read', exp };
  json(response, JSON.stringify(token.startsWith('good-') ? answer : { active: false }));
  return true;
};

const upstream = await listen(
  // Accepts far larger headers than the gateway, so that a refusal comes from the gateway.
  createServer({ maxHeaderSize: 4 * 1024 * 1024 }, (request, response) => {
    if (request.url === '/events') {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: hello\n\n');
      return;
    }
    let isList = false;
    request.on('data', (chunk: Buffer) => (isList ||= chunk.includes('"tools/list"')));
    request.on('end', () => json(response, isList ? list : JSON.stringify({ ok: true, padding: 'x'.repeat(280) })));
  }),
  0,
);

const places: Places = { upstream: upstream.url, issuer: issuer.url, key: await exportJWK(key.privateKey) };
process.send?.(places);
process.on('disconnect', () => process.exit());

function json(response: ServerResponse, text: string): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(text);
}
