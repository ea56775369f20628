import { readFile } from 'node:fs/promises';
import { createServer, type ServerResponse } from 'node:http';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import type { Page } from 'playwright-core';
import { listen, type Running } from '../../demo/listen.ts';

const pages = join(
  fileURLToPath(import.meta.resolve('@modelcontextprotocol/inspector-client/package.json')),
  '../dist',
);

const contentTypes: Readonly<Record<string, string>> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
};

/**
 * Serves MCP Inspector's web UI on loopback, as its own `bin/client.js` does, which needs packages that it does not name:
 * its files, and for every other path (`/oauth/callback`) its only page.
 */
export function startInspector(): Promise<Running> {
  return listen(
    createServer(({ url = '/' }, response) => void serve(new URL(url, 'http://inspector').pathname, response)),
    0,
  );
}

/** Opens it for a server, to which it connects without its own proxy. */
export async function connectDirectly(page: Page, inspector: Running, mcpUrl: URL): Promise<void> {
  const start = new URL(inspector.url);
  start.search = new URLSearchParams({ transport: 'streamable-http', serverUrl: mcpUrl.href }).toString();
  await page.goto(start.href);
  await page.getByRole('combobox', { name: 'Connection Type' }).click();
  await page.getByRole('option', { name: 'Direct' }).click();
  await page.getByRole('button', { name: 'Connect' }).click();
}

async function serve(path: string, response: ServerResponse): Promise<void> {
  const isFile = path in contentTypes || extname(path) in contentTypes;
  const file = isFile ? path : '/index.html';
  const body = await readFile(join(pages, file)).catch(() => undefined);
  if (body === undefined) return void response.writeHead(404).end();
  response.writeHead(200, { 'content-type': contentTypes[extname(file)] ?? 'text/plain' }).end(body);
}
