import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { principalOfAnswer } from '../../src/authenticate/introspection-answer.ts';
import type { AuthorizationServer } from '../../src/model/authorization-server.ts';
import { Denial } from '../../src/model/denial.ts';
import type { Principal } from '../../src/model/principal.ts';
import { runs } from '../support/runs.ts';

const now = 1_800_000_000;
const server = {
  name: 'main',
  issuer: 'https://as.example',
  clockToleranceMs: 5_000,
  introspection: { audience: 'required' },
} as unknown as AuthorizationServer;

const anything = fc.jsonValue({ maxDepth: 2 });
const text = fc.oneof(fc.constantFrom('alice', 'Bearer', 'DPoP', 'https://as.example'), anything);
const time = fc.oneof(fc.integer({ min: now - 60, max: now + 60 }), anything);
const claims = fc.record(
  {
    iss: text,
    sub: text,
    client_id: text,
    aud: fc.oneof(fc.array(fc.string()), fc.string(), anything),
    scope: fc.oneof(fc.constant('read pay'), anything),
    exp: time,
    nbf: time,
    iat: time,
    token_type: text,
    token_use: text,
    cnf: fc.oneof(fc.record({ jkt: fc.stringMatching(/^[\w-]{43}$/) }), anything),
  },
  { requiredKeys: [] },
);

/** The principal, or the reason of the Denial. */
function read(answer: Record<string, unknown>): Principal | string {
  try {
    return principalOfAnswer({ claims: answer }, server, new Map(), () => now * 1000);
  } catch (error) {
    if (error instanceof Denial) return error.reason;
    throw error;
  }
}

test('RFC 7662 §2.2 — whatever a server says of a token: somebody for whom it holds now, or a Denial', () => {
  fc.assert(
    fc.property(claims, (answer) => {
      const found = read(answer);
      const isSound =
        typeof found === 'string'
          ? found.startsWith('token.')
          : found.issuer === server.issuer &&
            ['string', 'undefined'].includes(typeof found.subject) &&
            found.audience.every((each) => typeof each === 'string') &&
            (found.expiresAt ?? Infinity) + 5 > now;
      expect(isSound).toBe(true);
    }),
    { numRuns: runs },
  );
});
