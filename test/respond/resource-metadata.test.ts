import { expect, test } from 'vitest';
import type { Config } from '../../src/model/config.ts';
import { metadataDocuments } from '../../src/respond/resource-metadata.ts';

const route = { path: '/mcp', resource: {}, authorizationServers: [] };

test.each([
  ['no TLS of ours', undefined, undefined],
  ['TLS that asks for no certificate', { cert: 'c', key: 'k', clientCa: undefined }, undefined],
  ['TLS that asks for one', { cert: 'c', key: 'k', clientCa: 'any' }, true],
])('%s: tls_client_certificate_bound_access_tokens is %s', (_title, tls, expected) => {
  const config = { publicUrl: 'https://gateway.example', routes: [route], tls } as unknown as Config;
  const [document] = metadataDocuments(config).values();
  const metadata = JSON.parse(document?.toString() ?? '') as Record<string, unknown>;
  expect(metadata['tls_client_certificate_bound_access_tokens']).toBe(expected);
});
