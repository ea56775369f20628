import { expect, test } from 'vitest';
import type { Config } from '../../../../src/ports/config.ts';
import type { Route } from '../../../../src/core/model/route.ts';
import type { Endpoint } from '../../../../src/core/model/endpoint.ts';
import { metadataDocuments, metadataUrl } from '../../../../src/core/gateway/respond/resource-metadata.ts';

const publicUrl = 'https://gateway.example';
const wellKnown = '/.well-known/oauth-protected-resource';
const route = { path: '/mcp', resource: {}, authorizationServers: [] };

interface Described {
  readonly [member: string]: unknown;
  readonly own?: readonly object[];
}

function documentsOf({ own = [], ...config }: Described): Readonly<Record<string, Record<string, unknown>>> {
  const documents = metadataDocuments({ publicUrl, ...config } as unknown as Config, own as readonly Endpoint[]);
  return Object.fromEntries(
    [...documents].map(([path, document]) => [path, JSON.parse(document.toString()) as Record<string, unknown>]),
  );
}

test.each([
  ['no TLS of ours', undefined, undefined],
  ['TLS that asks for no certificate', { cert: 'c', key: 'k', clientCa: undefined }, undefined],
  ['TLS that asks for one', { cert: 'c', key: 'k', clientCa: 'any' }, true],
])('%s: tls_client_certificate_bound_access_tokens is %s', (_title, tls, expected) => {
  const document = documentsOf({ routes: [route], tls })[wellKnown];
  expect(document?.['tls_client_certificate_bound_access_tokens']).toBe(expected);
});

test('RFC 9728 §2: says what a client needs to know', () => {
  const issuer = 'https://as.example';
  const [documentation, policyUri, tosUri] = ['d', 'p', 't'].map((name) => `https://docs.example/${name}`);
  const whole = {
    path: '/mcp',
    resource: { name: 'Tools', scopesSupported: ['read'], documentation, policyUri, tosUri },
    scopePrefix: 'api://',
    authorizationServers: [{ issuer }],
    proofs: { required: true, algorithms: ['ES256'] },
  };
  expect(documentsOf({ routes: [whole] })).toHaveProperty([`${wellKnown}/mcp`], {
    resource: `${publicUrl}/mcp`,
    resource_name: 'Tools',
    authorization_servers: [issuer],
    scopes_supported: ['api://read'],
    bearer_methods_supported: ['header'],
    resource_documentation: documentation,
    resource_policy_uri: policyUri,
    resource_tos_uri: tosUri,
    dpop_signing_alg_values_supported: ['ES256'],
    dpop_bound_access_tokens_required: true,
  });
  const optional = { ...whole, proofs: { ...whole.proofs, required: false } };
  expect(documentsOf({ routes: [optional] })[`${wellKnown}/mcp`]).not.toHaveProperty(
    'dpop_bound_access_tokens_required',
  );
});

const named = (name: string): object => ({ ...route, name, path: `/${name}` });
const others = [named('a'), named('b')];
const own = [
  { ...named('approvals'), isOwn: true },
  { ...named('console'), isOwn: true, resource: undefined },
];
test.each<[what: string, config: Described, atRoot: string | undefined]>([
  ['the only resource', { routes: [route] }, '/mcp'],
  [
    'the only one beside a route that is none',
    { routes: [{ ...route, path: '/api', resource: undefined }, route] },
    '/mcp',
  ],
  ['the only one beside approvals', { routes: [route], own }, '/mcp'],
  ['none of several', { routes: others }, undefined],
  ['the one that root_resource names', { routes: others, rootResource: 'b' }, '/b'],
  ['none for approvals alone', { routes: [], own }, undefined],
  ['never that of approvals', { routes: others, own, rootResource: 'approvals' }, undefined],
])('R-8: the document at the bare path is that of %s', (_what, config, atRoot) => {
  const documents = documentsOf(config);
  for (const path of [wellKnown, `${wellKnown}/`])
    expect(documents[path]?.['resource']).toBe(atRoot && publicUrl + atRoot);
  expect(`${wellKnown}/approvals` in documents).toBe('own' in config);
  expect(documents).not.toHaveProperty([`${wellKnown}/api`]);
  expect(documents).not.toHaveProperty([`${wellKnown}/console`]);
});

test('RFC 9728 §3.1: the root has no path to add, before or after', () => {
  const routes = [{ ...route, path: '/' }, route];
  const documents = documentsOf({ routes });
  expect(documents[wellKnown]?.['resource']).toBe(`${publicUrl}/`);
  expect(Object.keys(documents).toSorted()).toEqual(
    [wellKnown, `${wellKnown}/`, `${wellKnown}/mcp`, `${wellKnown}/mcp/`, `/mcp${wellKnown}`].toSorted(),
  );
  expect(metadataUrl({ ...route, path: '/' } as unknown as Route, 'https://x')).toBe(`https://x${wellKnown}`);
  expect(metadataUrl({ path: '/api' } as Route, 'https://x')).toBeUndefined();
});
