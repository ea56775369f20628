import { beforeAll, expect, test } from 'vitest';
import { createProver } from '../support/prover.ts';
import { startDpopWorld } from '../worlds/dpop.ts';
import { publicUrl } from '../worlds/gateway.ts';
import { startBeforeAll } from '../support/start-before.ts';

let token: string;
const world = startBeforeAll(startDpopWorld);
beforeAll(async () => {
  token = await world.bound({ exp: Math.floor(Date.now() / 1000) + 36_000 });
});

const api = `${publicUrl}/api`;
const now = (): number => Math.floor(Date.now() / 1000);

test('R-64, RFC 9449 §4.3: accepts a proof for this call, and refuses one for another method', async () => {
  expect((await world.prove('/api?a=b', token)).status, 'no query in htu').toBe(200);
  expect((await world.prove('/api', token, { claims: { htm: 'POST' } })).status).toBe(401);
  expect(await world.reason()).toBe('proof.invalid');
});

test('R-64, RFC 9449 §4.3: check 1: refuses more than one DPoP field', async () => {
  const [one, two] = [await world.client.proof({ url: api, token }), await world.client.proof({ url: api, token })];
  const raw = await world.sendRaw(
    'GET /api HTTP/1.1',
    'Host: gateway.test',
    `Authorization: DPoP ${token}`,
    `DPoP: ${one}`,
    `dpop: ${two}`,
  );
  expect(raw).toMatch(/^HTTP\/1\.1 400 /);
  expect((await world.show('/api', token)).status, 'nor none').toBe(401);
  expect(await world.reason()).toBe('proof.missing');
});

test('R-64, RFC 9449 §4.3: check 9: compares htu with public_url, not with Host', async () => {
  const port = new URL(world.gateway.url).port;
  for (const [host, status] of [
    ['gateway.test', 200],
    [`127.0.0.1:${port}`, 401],
  ] as const) {
    const proof = await world.client.proof({ url: `http://${host}/api`, token });
    const raw = await world.sendRaw(
      'GET /api HTTP/1.1',
      `Host: ${host}`,
      `Authorization: DPoP ${token}`,
      `DPoP: ${proof}`,
    );
    expect(raw).toContain(`HTTP/1.1 ${status} `);
  }
});

test('R-64, RFC 9449 §4.3: checks 5 and 11: takes the algorithms and the window from the configuration', async () => {
  const by = await createProver('ES384');
  const bound = await world.bound({ cnf: by.cnf });
  expect((await world.prove('/narrow', token)).status, 'where ES384 alone is accepted').toBe(401);
  expect((await world.prove('/narrow', bound, { by, claims: { iat: now() - 3 } })).status).toBe(200);
  expect((await world.prove('/narrow', bound, { by, claims: { iat: now() - 6 } })).status).toBe(401);
  expect((await world.prove('/narrow', bound, { by, claims: { iat: now() + 15 } })).status).toBe(401);
});

test('R-71, RFC 9449 §11.1: accepts a jti once', async () => {
  const proof = await world.client.proof({ url: api, token });
  expect((await world.show('/api', token, proof)).status).toBe(200);
  const again = await world.show('/api', token, proof);
  expect(again.status).toBe(401);
  expect(again.challenge).toContain('DPoP error="invalid_dpop_proof"');
  expect(await world.reason()).toBe('proof.replayed');
  expect((await world.show('/api?x', token, proof)).status, 'whatever the query').toBe(401);
  expect((await world.prove('/api', token)).status, 'the next one').toBe(200);
});

test('R-71, RFC 9449 §11.1: refuses the same jti with another spelling of the request', async () => {
  const proof = await world.client.proof({ url: `${api}/%C3%A9`, token });
  expect((await world.show('/api/%C3%A9', token, proof)).status).toBe(200);
  expect((await world.show('/api/%c3%a9', token, proof)).status).toBe(401);
  expect(await world.reason()).toBe('proof.replayed');
});

test('R-71, RFC 9449 §11.1: serves one of two simultaneous uses', async () => {
  const proof = await world.client.proof({ url: api, token });
  const answers = await Promise.all(Array.from({ length: 8 }, () => world.show('/api', token, proof)));
  expect(answers.map(({ status }) => status).filter((status) => status === 200)).toHaveLength(1);
});

test('R-71, RFC 9449 §11.1: remembers a jti for as long as the proof is valid', async () => {
  const proof = await world.client.proof({ url: api, token });
  expect((await world.show('/api', token, proof)).status).toBe(200);
  world.advance(298);
  expect((await world.show('/api', token, proof)).status).toBe(401);
  expect(await world.reason()).toBe('proof.replayed');
  world.advance(3);
  expect((await world.show('/api', token, proof)).status).toBe(401);
  expect(await world.reason(), 'it is too old by itself').toBe('proof.invalid');
  world.advance(-301);
});
