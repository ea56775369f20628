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

const told = (route: object): unknown => {
  const config = { publicUrl: 'https://gateway.example', routes: [route] } as unknown as Config;
  const [document] = metadataDocuments(config).values();
  return JSON.parse(document?.toString() ?? '');
};

test('RFC 9728 §2: all that is configured', () => {
  const resource = {
    name: 'Tools',
    scopesSupported: ['read'],
    documentation: 'https://docs.example',
    policyUri: 'https://policy.example',
    tosUri: 'https://tos.example',
  };
  const dpop = { required: true, algorithms: ['ES256'] };
  const authorizationServers = [{ issuer: 'https://a.example' }, { issuer: 'https://b.example' }];
  expect(told({ ...route, resource, dpop, authorizationServers })).toEqual({
    resource: 'https://gateway.example/mcp',
    resource_name: 'Tools',
    authorization_servers: ['https://a.example', 'https://b.example'],
    scopes_supported: ['read'],
    bearer_methods_supported: ['header'],
    resource_documentation: 'https://docs.example',
    resource_policy_uri: 'https://policy.example',
    resource_tos_uri: 'https://tos.example',
    dpop_signing_alg_values_supported: ['ES256'],
    dpop_bound_access_tokens_required: true,
  });
});

test('RFC 9449 §5.1: what only may be bound is not said to have to be', () => {
  expect(told({ ...route, dpop: { required: false, algorithms: ['ES256'] } })).not.toHaveProperty(
    'dpop_bound_access_tokens_required',
  );
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
