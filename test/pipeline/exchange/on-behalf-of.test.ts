import { expect, test } from 'vitest';
import { createCredentialSources } from '../../../src/pipeline/exchange/credential-source.ts';
import type { AuthorizationServerClient } from '../../../src/model/authorization-server.ts';
import { callerKey, type Principal } from '../../../src/model/principal.ts';
import type { Route } from '../../../src/model/route.ts';
import { credentialOf, exchangeWith, issued } from '../../worlds/token-endpoint.ts';

test('calls the token endpoint on behalf of the caller, so that callers share its places fairly', async () => {
  const askers: unknown[] = [];
  const exchange = exchangeWith({ endpoint: 'https://as.example/token', scope: [] });
  const client: Partial<AuthorizationServerClient> = {
    async post(_operation, _url, form, _credentials, options) {
      askers.push(options?.onBehalfOf);
      return { status: 200, mediaType: 'application/json', text: '', ...issued(`for-${form.get('subject_token')}`) };
    },
  };
  const { credential } = createCredentialSources(() => {}, Date.now)(
    { upstream: { token: { kind: 'exchange', exchange } } } as Route,
    { clients: new Map([['main', client as AuthorizationServerClient]]), revalidate: async () => {} },
  );
  const ask = async (subject: string | undefined, clientId: string | undefined): Promise<unknown> => {
    const identity = { issuer: 'https://as.example', subject, clientId };
    const principal: Partial<Principal> = { ...identity, callerKey: callerKey(identity) };
    await credentialOf({ credential, onUnauthorized: undefined }, `t${askers.length}`, principal);
    return askers.at(-1);
  };

  const alice = await ask('alice', 'app');
  expect(await ask('alice', 'other')).toBe(alice);
  const others = [await ask('bob', 'app'), await ask(undefined, 'alice'), await ask(undefined, undefined)];
  expect(new Set([alice, ...others]).size).toBe(4);
});
