import { expect, test } from 'vitest';
import { openPossession } from '../../../src/capabilities/possession/opened.ts';
import { dpop } from '../../../src/capabilities/possession/settings.ts';
import { noFields } from '../../../src/core/gateway/listen/call.ts';
import type { Call } from '../../../src/core/model/call.ts';
import type { AccessToken } from '../../../src/core/model/grant.ts';
import type { Route } from '../../../src/core/model/route.ts';
import { outcomeOf } from '../../support/denial.ts';
import { quietRoute } from '../../support/process-parts.ts';
import { createProver } from '../../support/prover.ts';

const publicUrl = 'https://gateway.example';
const settings = { required: false, nonce: true, algorithms: ['ES256'], proofLifetimeMs: 60_000 };
const route = { slots: new Map([dpop.with(settings)]) } as unknown as Route;
const token = 't' as AccessToken;

function opened(seen = new Set<string>()) {
  const replays = { firstSeen: (key: string) => !seen.has(key) && seen.add(key).has(key) };
  const parts = { config: { publicUrl, routes: [route] }, secret: 'secret', clients: new Map() };
  return openPossession({ clock: Date.now, replays }).open(parts);
}

test('a proof counts once, after a reload too', async () => {
  const seen = new Set<string>();
  const client = await createProver();
  const { proofs } = opened(seen).of(route, quietRoute);
  const proof = await client.proof({ url: `${publicUrl}/mcp`, token }, { claims: { nonce: proofs?.nonce?.() } });
  const call = { method: 'GET', path: '/mcp', fields: { ...noFields, dpop: proof } } as unknown as Call;
  await proofs?.check(call, token, client.cnf.jkt, 'alice');
  const again = opened(seen).of(route, quietRoute).proofs?.check(call, token, client.cnf.jkt, 'alice');
  expect(await outcomeOf(again as Promise<void>)).toBe('proof.replayed');
});

test('a route without dpop takes no proofs', () => {
  expect(opened().of({ slots: undefined } as Route, quietRoute)).toEqual({});
});
