import type { IncomingMessage, ServerResponse } from 'node:http';
import { http, type Listening, startListener } from '../../core/lib/http/node-http.ts';
import type { Address } from '../../core/model/listen.ts';
import type { Metrics } from '../../core/telemetry/metrics.ts';
import { hostKind } from './access.ts';

/**
 * Serves `/metrics` (Prometheus text format) and `/healthz` (the process lives), as the admin listener does: without a
 * token, and to no Host that an attacker could register.
 *
 * @param page The page of `/metrics`.
 * @throws the system's error if the address cannot be listened on.
 */
export async function serveMetrics(listen: Address, page: Metrics['page']): Promise<Listening> {
  async function answer({ method, url, headers }: IncomingMessage, response: ServerResponse): Promise<void> {
    if (method !== 'GET') return void response.writeHead(405, { allow: 'GET' }).end();
    if (url === '/healthz') return void response.writeHead(200).end('ok\n');
    if (hostKind(headers.host ?? '', []) === 'foreign') return void response.writeHead(403).end();
    if (url !== '/metrics') return void response.writeHead(404).end();
    const { type, text } = await page();
    response.writeHead(200, { 'content-type': type }).end(text);
  }

  const server = http.createServer((request, response) => {
    response.setHeader('cache-control', 'no-store');
    response.setHeader('x-content-type-options', 'nosniff');
    answer(request, response).catch((error: unknown) => response.destroy(error as Error));
  });
  return startListener(server, listen);
}
