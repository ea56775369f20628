import type { ServerResponse } from 'node:http';
import { crc32 } from 'node:zlib';
import { fieldOf, type Recorded } from './recorder.ts';

const json = { 'content-type': 'application/json' };
const lists =
  '{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"get_prices"},{"name":"delete_all"},{}],"cacheScope":"public"}}';
const handles = '{"jsonrpc":"2.0","id":1,"result":{"taskId":"t1","task":{"taskId":"t\\u0031"},"requestState":"s"}}';

/** Answers a request in one of the ways of real servers. The request determines the way. */
export function answered(request: Recorded, response: ServerResponse): void {
  const { method, target, body } = request;
  response.setHeader('x-seen', fieldOf(request, 'x-request-id'));
  if (method === 'POST' && body.includes('"initialize"')) response.setHeader('mcp-session-id', 's1');
  switch (crc32(body, crc32(`${method} ${target} `)) % 16) {
    case 0:
      response.writeHead(204).end();
      return;
    case 1:
      response.writeHead(500, { 'content-type': 'text/plain' }).end('no');
      return;
    case 2:
      response.writeHead(401, { 'www-authenticate': 'Basic realm="x"' }).end();
      return;
    case 3:
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(`: hello\n\ndata: ${lists}\n`);
      response.end(`\nid: 1\r\ndata: ${handles}\r\n\r\n`);
      return;
    case 4:
      response.writeHead(200, json).write(lists.slice(0, 20));
      response.end(lists.slice(20));
      return;
    case 5:
    case 6:
      response.writeHead(200, json).end(lists);
      return;
    case 7:
    case 8:
      response.writeHead(200, json).end(handles);
      return;
    default:
      response.writeHead(200, json).end('{"jsonrpc":"2.0","id":1,"result":{}}');
  }
}
