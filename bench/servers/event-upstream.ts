/**
 * An upstream of idle event streams. `GET /mcp` opens one; `GET /api` and a call of MCP are answered at once.
 * `POST /broadcast` sends an event to each open stream, with the time of writing (`process.hrtime`, ns, the same clock
 * for all processes).
 *
 * @module
 */
import { createServer, type ServerResponse } from 'node:http';
import { eventAnswer, jsonAnswer } from '../answers.ts';

const streams = new Set<ServerResponse>();
createServer((request, response) => {
  if (request.url === '/api') {
    response
      .writeHead(200, { 'content-type': 'application/json', 'content-length': jsonAnswer.length })
      .end(jsonAnswer);
    return;
  }
  if (request.method === 'POST' && request.url === '/mcp') {
    request
      .resume()
      .once('end', () => response.writeHead(200, { 'content-type': 'text/event-stream' }).end(eventAnswer));
    return;
  }
  if (request.method === 'POST') {
    for (const stream of streams) stream.write(`data: ${process.hrtime.bigint()}\n\n`);
    response.end(String(streams.size));
    return;
  }
  if (request.url !== '/mcp') {
    response.writeHead(404).end();
    return;
  }
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' }).write(': open\n\n');
  streams.add(response);
  response.once('close', () => streams.delete(response));
}).listen(Number(process.env['PORT']), '127.0.0.1', 16_384);
