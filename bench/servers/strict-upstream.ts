/**
 * An MCP server with one tool of ten members, which answers a call by an event.
 *
 * @module
 */
import { createServer } from 'node:http';
import { eventAnswer, tenTool } from '../answers.ts';

interface Message {
  readonly id?: number;
  readonly method: string;
}

const results: Readonly<Record<string, object>> = {
  initialize: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'x', version: '1' } },
  'tools/list': { tools: [tenTool] },
};

createServer((request, response) => {
  let body = '';
  request.setEncoding('utf8').on('data', (text: string) => void (body += text));
  request.once('end', () => {
    const { id, method } = (body === '' ? { method: '' } : JSON.parse(body)) as Message;
    const result = results[method];
    if (method === 'tools/call') response.writeHead(200, { 'content-type': 'text/event-stream' }).end(eventAnswer);
    else if (result === undefined) response.writeHead(id === undefined ? 202 : 404).end();
    else
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ jsonrpc: '2.0', id, result }));
  });
}).listen(Number(process.env['PORT']), '127.0.0.1');
