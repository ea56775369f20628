import { expect, test } from 'vitest';
import type { Config } from '../../../src/model/config.ts';
import type { Route } from '../../../src/model/route.ts';
import { metadataDocuments, metadataUrl } from '../../../src/pipeline/respond/resource-metadata.ts';

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

test('RFC 9728 §3.1: the root has no path to add, before or after', () => {
  const routes = [{ ...route, path: '/' }, route];
  const documents = metadataDocuments({ publicUrl: 'https://gateway.example', routes } as unknown as Config);
  const wellKnown = '/.well-known/oauth-protected-resource';
  expect([...documents.keys()].toSorted()).toEqual(
    [wellKnown, `${wellKnown}/`, `${wellKnown}/mcp`, `${wellKnown}/mcp/`, `/mcp${wellKnown}`].toSorted(),
  );
  expect(metadataUrl({ ...route, path: '/' } as unknown as Route, 'https://x')).toBe(`https://x${wellKnown}`);
  expect(metadataUrl({ path: '/api' } as Route, 'https://x')).toBeUndefined();
});
