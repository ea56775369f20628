import { hash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { sendJson } from '../support/upstream.ts';

/** What `/big` answers: no two parts of it are the same. */
export const bigBody = Array.from({ length: 6_000 }, (_, at) => `line ${at}\n`).join('');

/** What `/events` says, one after another. */
export const events = Array.from({ length: 8 }, (_, at) => `id: ${at}\ndata: ${String(at).repeat(800)}\n\n`);

const EVENT_MS = 4;

/** What a client sends to `/upload`. */
export const upload = bigBody.repeat(4);

/** The one right answer to an upload. */
export const receipt = JSON.stringify({ bytes: upload.length, sha256: hash('sha256', upload) });

/** The upstream of the bed: each answer tells the call that it belongs to, so that one for another is seen. */
export function answerOfUpstream(request: IncomingMessage, response: ServerResponse, body: string): void {
  response.on('error', () => {});
  response.setHeader('x-call', String(request.headers['x-call']));
  const path = request.url ?? '';
  if (path.endsWith('/big')) {
    response.end(bigBody);
  } else if (path.endsWith('/upload')) {
    response.end(JSON.stringify({ bytes: body.length, sha256: hash('sha256', body) }));
  } else if (path.endsWith('/events')) {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    let next = 0;
    const timer = setInterval(() => {
      if (next < events.length) response.write(events[next++]);
      else response.end();
    }, EVENT_MS);
    response.once('close', () => clearInterval(timer));
  } else if (body.includes('"tools/call"')) {
    const { id } = JSON.parse(body) as { readonly id: unknown };
    const result = { content: [{ type: 'text', text: 'done' }] };
    sendJson(response, 200, { jsonrpc: '2.0', id, result });
  } else {
    response.end('ok');
  }
}
