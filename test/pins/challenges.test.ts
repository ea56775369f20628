import { expect, test } from 'vitest';
import { challenge } from '../../src/core/gateway/respond/challenge.ts';

const metadata = 'https://gateway.example/.well-known/oauth-protected-resource/mcp';

/** Clients compare these whole; a changed byte sends them into a new authorization. */
test.for([
  [
    { error: 'invalid_token', scope: ['read'], resourceMetadata: metadata },
    `Bearer error="invalid_token", scope="read", resource_metadata="${metadata}"`,
  ],
  [
    { error: 'invalid_token', scope: [], resourceMetadata: metadata },
    `Bearer error="invalid_token", resource_metadata="${metadata}"`,
  ],
  [{ error: 'invalid_token', scope: [], resourceMetadata: undefined }, 'Bearer error="invalid_token"'],
  [
    { error: 'insufficient_scope', scope: ['read', 'payments'], resourceMetadata: metadata },
    `Bearer error="insufficient_scope", scope="read payments", resource_metadata="${metadata}"`,
  ],
  [
    {
      error: 'insufficient_user_authentication',
      acrValues: ['mfa', 'phr'],
      maxAge: 300,
      scope: ['pay'],
      resourceMetadata: metadata,
    },
    `Bearer error="insufficient_user_authentication", acr_values="mfa phr", max_age="300", scope="pay", resource_metadata="${metadata}"`,
  ],
  [
    { error: 'insufficient_scope', scope: ['read'], resourceMetadata: undefined },
    'Bearer error="insufficient_scope", scope="read"',
  ],
] as const)('$1', ([parameters, value]) => {
  expect(challenge('Bearer', parameters)).toBe(value);
});

test('a DPoP challenge has the same parameters, then its algorithms', () => {
  const parameters = { scope: ['read'], resourceMetadata: metadata, algorithms: ['ES256', 'EdDSA'] };
  expect(challenge('DPoP', { error: 'use_dpop_nonce', ...parameters })).toBe(
    `DPoP error="use_dpop_nonce", scope="read", resource_metadata="${metadata}", algs="ES256 EdDSA"`,
  );
});
