import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import type { AuthorizationServer } from '../../demo/authorization-server.ts';
import { createBrowser } from '../../demo/browser.ts';
import { obtainToken } from '../../demo/obtain-token.ts';
import { introspect, start } from './authorization-server-requests.ts';

const redirectUri = 'http://127.0.0.1:7777/callback';
const allowedUrl = 'https://agent.example/oauth/client.json';

let server: AuthorizationServer;
let fetched: string[];

beforeAll(async () => {
  fetched = [];
  server = await start({
    clientDocuments: ['https://agent.example/oauth/'],
    // The agent's own site. It asks for more than it gets.
    fetchClientDocument: async (input) => {
      const url = input instanceof Request ? input.url : String(input);
      fetched.push(url);
      return Response.json({
        client_id: url,
        client_name: 'An agent with a site',
        redirect_uris: [url.endsWith('evil.json') ? 'http://evil.example/' : redirectUri],
        grant_types: ['authorization_code', 'refresh_token'],
        token_endpoint_auth_method: 'none',
        scope: 'admin',
      });
    },
  });
});

afterAll(() => server.close());

describe('R-188: client metadata documents', () => {
  test('are advertised, with public clients', async () => {
    const response = await fetch(`${server.issuer}/.well-known/oauth-authorization-server`);
    expect(await response.json()).toMatchObject({
      client_id_metadata_document_supported: true,
      token_endpoint_auth_methods_supported: ['client_secret_post', 'client_secret_basic', 'none'],
    });
  });

  test('define a client without registration, under the same policy', async () => {
    const browser = createBrowser();
    const client = { redirectUri, clientId: allowedUrl };
    const tokens = await obtainToken({ browser, client, issuer: server.issuer, user: 'alice', scope: 'read' });
    expect(tokens).toEqual({ accessToken: expect.any(String), expiresIn: 900, scope: 'read', tokenType: 'Bearer' });
    expect(browser.pages).toEqual(['Sign in', 'Allow access']);
    expect(await introspect(server.issuer, tokens.accessToken)).toMatchObject({
      client_id: allowedUrl,
      ai_agent: true,
    });
    await expect(obtainToken({ client, issuer: server.issuer, user: 'alice', scope: 'admin' })).rejects.toThrow(
      'invalid_scope',
    );
  });

  test('are fetched only from the allow list', async () => {
    const url = 'https://other.example/client.json';
    const client = { redirectUri, clientId: url };
    await expect(obtainToken({ client, issuer: server.issuer, user: 'alice' })).rejects.toThrow('fetch not allowed');
    expect(fetched).not.toContain(url);
  });

  test('are refused with a redirect URI that is neither https nor loopback', async () => {
    const client = { redirectUri: 'http://evil.example/', clientId: 'https://agent.example/oauth/evil.json' };
    await expect(obtainToken({ client, issuer: server.issuer, user: 'alice' })).rejects.toThrow('redirect');
  });
});
