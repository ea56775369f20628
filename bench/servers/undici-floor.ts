/**
 * The smallest possible proxy on Node: Node's server, undici's dispatcher, no authorization. The difference between its
 * cost and the gateway's is the cost of authorization.
 *
 * @module
 */
import { createServer } from 'node:http';
import { Pool, type Dispatcher } from 'undici';

const pool = new Pool(process.env['UPSTREAM'] ?? '', { connections: null, pipelining: 1, bodyTimeout: 0 });
const notForUpstream = new Set(['connection', 'host', 'authorization', 'transfer-encoding', 'keep-alive', 'upgrade']);
const notForClient = new Set(['connection', 'transfer-encoding', 'keep-alive']);

createServer((request, response) => {
  const raw = request.rawHeaders;
  const headers: string[] = [];
  for (let i = 0; i < raw.length; i += 2) {
    if (!notForUpstream.has((raw[i] as string).toLowerCase())) headers.push(raw[i] as string, raw[i + 1] as string);
  }
  const body = request.method === 'GET' ? null : request;
  let controller: Dispatcher.DispatchController | undefined;
  response.on('close', () => {
    if (!response.writableFinished) controller?.abort(new Error('the client went away'));
  });
  pool.dispatch(
    { path: request.url ?? '/', method: request.method ?? 'GET', headers, body },
    {
      onRequestStart(started) {
        controller = started;
      },
      onResponseStart({ rawHeaders }, status) {
        const received = rawHeaders as readonly Buffer[];
        const fields: string[] = [];
        let isEventStream = false;
        for (let i = 0; i < received.length; i += 2) {
          const name = String(received[i]);
          if (notForClient.has(name.toLowerCase())) continue;
          const value = String(received[i + 1]);
          if (value.startsWith('text/event-stream')) isEventStream = true;
          fields.push(name, value);
        }
        response.sendDate = false;
        response.writeHead(status, fields);
        if (isEventStream) response.flushHeaders();
      },
      onResponseData(_, chunk) {
        response.write(chunk);
      },
      onResponseEnd() {
        response.end();
      },
      onResponseError() {
        response.destroy();
      },
    },
  );
}).listen(Number(process.env['PORT']), '127.0.0.1');
