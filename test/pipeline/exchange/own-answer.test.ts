import { describe, expect, test } from 'vitest';
import { createCredentialSources } from '../../../src/pipeline/exchange/credential-source.ts';
import type { Grant } from '../../../src/model/grant.ts';
import type { Route } from '../../../src/model/route.ts';
import type { SharedAnswers } from '../../../src/model/shared.ts';
import { bearer } from '../../support/bearer.ts';
import { exchangeWith, issued, startTokenEndpointWorld } from '../../worlds/token-endpoint.ts';
import { startBeforeEach } from '../../support/start-before.ts';

const world = startBeforeEach(startTokenEndpointWorld);

const grant = { principal: { issuer: 'https://as.example', subject: 'alice' } } as Grant;
const invalid = { reason: 'exchange.invalid' };

describe('refuses an answer that repeats a token of the request', () => {
  test('the subject token: the upstream could use it at the gateway as the client', async () => {
    world.answer = (form) => issued(form.get('subject_token') ?? '');
    const { credential } = world.route();
    for (const _ of [1, 2]) await expect((async () => credential(grant, bearer('t')))()).rejects.toMatchObject(invalid);
    expect(world.calls()).toHaveLength(1);
  });

  test('the actor token: the upstream could act as the gateway', async () => {
    world.answer = (form) => issued(form.get('actor_token') ?? 'own');
    const { credential } = world.route({ actor: 'client_credentials' });
    await expect((async () => credential(grant, bearer('t')))()).rejects.toMatchObject(invalid);
  });

  test('accepts a token that differs by one character', async () => {
    world.answer = (form) => issued(`${form.get('subject_token')}=`);
    const { credential } = world.route();
    await expect((async () => credential(grant, bearer('t')))()).resolves.toBe('Bearer t=');
  });
});

test('checks an entry of another replica as well', async () => {
  const kept = { answer: { value: 'Bearer t', obtainedAt: Date.now() }, expiresAt: Date.now() + 60_000 };
  const answers: SharedAnswers = { get: async () => kept, set: () => {}, delete: () => {} };
  const exchange = exchangeWith({ server: world.client.server });
  const route = { upstream: { token: { kind: 'exchange', exchange } } } as Route;
  const parts = { clients: new Map([['main', world.client]]), revalidate: async () => {} };
  const { credential } = createCredentialSources(() => {}, Date.now, answers)(route, parts);
  for (const _ of [1, 2]) await expect((async () => credential(grant, bearer('t')))()).rejects.toMatchObject(invalid);
});
