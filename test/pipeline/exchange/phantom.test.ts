import { expect, test } from 'vitest';
import { createCredentialSources } from '../../../src/pipeline/exchange/credential-source.ts';
import type { Grant } from '../../../src/model/grant.ts';
import type { Principal } from '../../../src/model/principal.ts';
import type { Route } from '../../../src/model/route.ts';
import { bearer } from '../../support/bearer.ts';

const route = { upstream: { token: { kind: 'phantom' } } } as Route;
const { credential } = createCredentialSources(() => {}, Date.now)(route, {
  clients: new Map(),
  revalidate: async () => {},
});
const grantFor = (principal: Partial<Principal> | undefined): Grant => ({ principal }) as Grant;

test('sends the signed introspection answer, never the client’s token', () => {
  expect(credential(grantFor({ introspectionJwt: 'a.b.c' }), bearer('opaque'))).toBe('Bearer a.b.c');
});

test('refuses an answer that is the client’s token', () => {
  expect(() => credential(grantFor({ introspectionJwt: 'a.b.c' }), bearer('a.b.c'))).toThrow(
    expect.objectContaining({ reason: 'exchange.invalid' }) as Error,
  );
});

test.each([
  ['an answer that was not signed', { introspectionJwt: undefined }],
  ['no caller at all', undefined],
])('sends nothing for %s, which the configuration excludes', (_title, principal) => {
  expect(() => credential(grantFor(principal), bearer('x.y.z'))).toThrow(TypeError);
});
