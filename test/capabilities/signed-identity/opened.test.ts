import { expect, test } from 'vitest';
import { quietRoute } from '../../support/process-parts.ts';
import { openSignedIdentity } from '../../../src/capabilities/signed-identity/opened.ts';
import { signedIdentity } from '../../../src/capabilities/signed-identity/slot.ts';
import { createRotatingKeys } from '../../../src/tokens/rotating-keys.ts';
import type { Route } from '../../../src/core/model/route.ts';
import { orReason } from '../../support/denial.ts';
import { recorded } from '../../core/gateway/respond/recorded.ts';

const plain = { slots: undefined } as Route;
const signing = {
  slots: new Map([signedIdentity.with({ header: 'x-id', audience: 'api', claims: [] })]),
} as unknown as Route;
const secret = 'k3y-of-at-least-thirty-two-characters';

function opened(routes: readonly Route[]) {
  const config = { publicUrl: 'https://gateway.example', routes };
  return openSignedIdentity({ clock: () => 5 }).open({ config, clients: new Map(), secret });
}

test('RFC 7517 §5: any page may read the keys that verify identities', () => {
  const { call, answer } = recorded('GET', '/.well-known/sallyport-jwks.json');
  expect(opened([plain, signing]).publish?.(call)).toBe(true);
  expect(answer()).toMatchObject({
    status: 200,
    headers: { 'Content-Type': 'application/jwk-set+json', 'Access-Control-Allow-Origin': '*' },
    body: JSON.stringify({ keys: createRotatingKeys(secret).published(5) }),
  });
});

test.each([[[]], [[plain]]])('where no route signs identities there are no keys', (routes) => {
  const { call } = recorded('GET', '/.well-known/sallyport-jwks.json');
  expect(orReason(() => opened(routes).publish?.(call))).toBe('route.unknown');
});

test('other documents are those of others', () => {
  expect(opened([signing]).publish?.(recorded('GET', '/.well-known/other').call)).toBe(false);
});

test('a route without it states nothing', () => {
  const identities = opened([plain, signing]);
  const parts = quietRoute;
  expect(identities.of(plain, parts)).toEqual({});
  expect(identities.of(signing, parts).states?.header).toBe('x-id');
});
