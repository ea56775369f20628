import type { RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { http } from '../lib/http/node-http.ts';
import type { Address } from '../model/config.ts';

/** The listener of the front door. */
export interface FrontDoorListener {
  readonly url: string;
  close(): Promise<void>;
}

/** How long one request may take to arrive. */
const REQUEST_MS = 15_000;
const MAX_HEADER_BYTES = 16 * 1024;

/** Listens in plain HTTP: a proxy, or a public route of the gateway, leads clients here. */
export async function listenAt({ host, port }: Address, onRequest: RequestListener): Promise<FrontDoorListener> {
  const server = http.createServer(
    { requestTimeout: REQUEST_MS, headersTimeout: REQUEST_MS, maxHeaderSize: MAX_HEADER_BYTES },
    onRequest,
  );
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  const address = server.address() as AddressInfo;
  const shown = address.address.includes(':') ? `[${address.address}]` : address.address;
  return {
    url: `http://${shown}:${address.port}`,
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeIdleConnections();
      const ending = setTimeout(() => server.closeAllConnections(), 2_000);
      await closed;
      clearTimeout(ending);
    },
  };
}
