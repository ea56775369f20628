import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Address } from '../model/config.ts';
import type { Service } from '../service.ts';
import type { Metrics } from '../telemetry/metrics.ts';

/** The second listener: for the operator's network, not for clients. */
export interface Admin {
  readonly url: string;
  close(): Promise<void>;
}

/**
 * Serves `/metrics` (Prometheus text format), `/healthz` (the process lives) and `/readyz` (a configuration is loaded
 * and listened on; the JSON lists each authorization server as it is now).
 *
 * @throws the system's error where the address cannot be listened on.
 */
export async function startAdmin(address: Address, service: Service, { registry }: Metrics): Promise<Admin> {
  const pages: Readonly<Record<string, (response: ServerResponse) => Promise<void> | void>> = {
    async '/metrics'(response) {
      const text = await registry.metrics();
      response.writeHead(200, { 'content-type': registry.contentType }).end(text);
    },
    '/healthz': (response) => json(response, { status: 'ok' }),
    '/readyz': (response) => json(response, { status: 'ready', authorization_servers: service.servers() }),
  };
  const server = createServer((request, response) => {
    const path = (request.url ?? '').split('?', 1)[0] ?? '';
    const page = Object.hasOwn(pages, path) ? pages[path] : undefined;
    if (page === undefined) response.writeHead(404).end();
    else if (request.method !== 'GET' && request.method !== 'HEAD')
      response.writeHead(405, { allow: 'GET, HEAD' }).end();
    else Promise.resolve(page(response)).catch((error: unknown) => response.destroy(error as Error));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(address.port, address.host, () => {
      server.off('error', reject);
      resolve();
    });
  });
  const { address: host, family, port } = server.address() as AddressInfo;
  return {
    url: `http://${family === 'IPv6' ? `[${host}]` : host}:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function json(response: ServerResponse, value: object): void {
  response
    .writeHead(200, { 'content-type': 'application/json', 'cache-control': 'no-store' })
    .end(JSON.stringify(value));
}
