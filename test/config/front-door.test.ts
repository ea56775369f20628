import { describe, expect, test } from 'vitest';
import { refusals } from './folder.ts';

/** A front door with these settings of one issuer of assertions, in line 13. */
function assertionsOf(settings: string): string {
  return `public_url: https://gateway.example
front_door:
  issuer: https://signin.example
  identity_providers:
    corporate: { issuer: https://login.example, client_id: a, client_secret: s3cr3t }
  clients:
    registered:
      desk-app: { client_secret: s3cr3t-2, redirect_uris: ["http://127.0.0.1:*/callback"] }
      open-app: { redirect_uris: ["http://127.0.0.1:*/callback"] }
  scopes: { read: { title: Read }, payments: { title: Pay } }
  assertions:
    # Okta
    acme: { issuer: https://acme.example, ${settings} }
routes:
  - { name: tools, path: /mcp, protocol: mcp, upstream: { url: http://127.0.0.1:3001 } }
`;
}

describe('front_door.assertions', () => {
  test('may name what is defined', async () => {
    const yaml = assertionsOf('clients: [desk-app], scopes: [read], provider: corporate');
    expect(await refusals({ yaml })).toEqual([]);
  });

  test.each([
    [
      'a client that is not registered here',
      'clients: [desk-app, laptop], scopes: [read]',
      'clients[1]: "laptop" is not in front_door.clients.registered; it has desk-app, open-app',
    ],
    [
      'a misspelt client',
      'clients: [desk-ap], scopes: [read]',
      'clients[0]: "desk-ap" is not in front_door.clients.registered; did you mean desk-app?',
    ],
    [
      'a public client',
      'clients: [desk-app, open-app], scopes: [read]',
      'clients[1]: "open-app" is a public client; set front_door.clients.registered.open-app.client_secret',
    ],
    [
      'a scope that the front door does not have',
      'clients: [desk-app], scopes: [read, admin]',
      'scopes[1]: "admin" is not in front_door.scopes; it has read, payments',
    ],
    [
      'a provider that is not defined',
      'clients: [desk-app], scopes: [read], provider: google',
      'provider: "google" is not in front_door.identity_providers; it has corporate',
    ],
  ])('refuses %s', async (_title, settings, problem) => {
    const lines = await refusals({ yaml: assertionsOf(settings) });
    expect(lines.map((line) => line.replace(/^gateway.yaml:13:\d+: front_door\.assertions\.acme\./, ''))).toEqual([
      problem,
    ]);
  });

  test('refuses a client where none is registered', async () => {
    const yaml = assertionsOf('clients: [laptop], scopes: [read]').replace(/ {2}clients:\n.*\n.*\n.*\n/, '');
    expect(await refusals({ yaml })).toEqual([
      expect.stringContaining('"laptop" is not in front_door.clients.registered; it has no entry'),
    ]);
  });
});

describe('front_door.clients', () => {
  /** A front door at which a client may register with this redirect URI. */
  const registration = (pattern: string): string => `public_url: https://gateway.example
front_door:
  issuer: https://signin.example
  identity_providers:
    corporate: { issuer: https://login.example, client_id: a, client_secret: s3cr3t }
  clients: { registration: { redirect_uris: ["${pattern}"] } }
  scopes: { read: { title: Read } }
routes:
  - { name: tools, path: /mcp, protocol: mcp, upstream: { url: http://127.0.0.1:3001 } }
`;
  const env = { REDIRECT: '*://evil.example/cb' };

  test.each(['*://evil.example/cb', '${env:REDIRECT}', 'ht*s://evil.example/cb'])(
    'refuses a wildcard in the scheme: %s',
    async (pattern) => {
      const lines = await refusals({ yaml: registration(pattern), env });
      expect(lines).toEqual([expect.stringMatching(/^gateway\.yaml:6:\d+: .*redirect_uris\[0\].*begin with a scheme/)]);
    },
  );
});
