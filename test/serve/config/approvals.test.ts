import { describe, expect, test } from 'vitest';
import { refuses } from './edits.ts';
import { refusals } from './folder.ts';

refuses(
  `
approvals: { authorization_servers: [main] } → accepted
approvals: { authorization_servers: [main], audience: "https://approve.example" } → accepted
approvals: { authorization_servers: [main], audience: "https://api.example" }
  :13:55: approvals.audience: "https://api.example" is also an audience of route api: its callers could approve their own calls; choose another one
audience "http://127.0.0.1:8080/approvals" & top approvals: { authorization_servers: [main] }
  :13:12: approvals.audience: "http://127.0.0.1:8080/approvals" is also an audience of route api: its callers could approve their own calls; choose another one
`.replaceAll(/^approvals:/gm, 'top approvals:'),
);

refuses(
  `
path: /revoke, scope: revoke → accepted
path: /revoke, scope: revoke, audience: "https://api.example"
  :13:67: revocation.endpoint.audience: "https://api.example" is also an audience of route api: its callers could revoke; choose another one
`.replaceAll(/^path:.*?(?= →|$)/gm, (endpoint) => `top revocation: { endpoint: { ${endpoint} } }`),
);

describe('who approves on the page of the front door', () => {
  const yaml = (servers: string): string => `public_url: https://gateway.example
authorization_servers: { main: { issuer: https://as.example, jwt: { algorithms: [RS256] } } }
front_door:
  issuer: https://signin.example
  identity_providers:
    corporate: { issuer: https://login.example, client_id: a, client_secret: '\${env:SECRET}', claims: { role: role } }
  scopes: { read: { title: Read } }
approvals: { authorization_servers: [${servers}] }
routes:
  - { name: tools, path: /mcp, protocol: mcp, authorization_servers: [front_door], policy: p, upstream: { url: http://127.0.0.1:1 } }
`;
  const refusalsOf = async (by: string, servers = 'front_door'): Promise<readonly string[]> =>
    refusals({
      yaml: yaml(servers),
      files: { 'policies/p.yaml': `scope: read\ntools: { pay: { approval: { by: ${by} } } }\n` },
      env: { SECRET: 'x'.repeat(40) },
    });
  const why =
    'policies/p.yaml:2:33: tools.pay.approval.by: no claim restricts it, and every person who can sign in at the front ' +
    'door has all scopes on its page: add claims, or write {} to let any person approve';

  test.each([
    '{ claims: { role: supervisor } }',
    '{ scope: read, claims: { role: supervisor } }',
    '{ claims: { sub: alice } }',
    '{ any: [{ claims: { role: a } }, { all: [{ scope: read }, { claims: { /role: b } }] }] }',
    '{ not: { claims: { role: trader } }, claims: { tenant: a } }',
    '{}',
  ])('accepts %s', async (by) => {
    expect(await refusalsOf(by)).toEqual([]);
  });

  test.each([
    '{ scope: read }',
    '{ max_age: 5m }',
    '{ acr: gold }',
    '{ max_lifetime: 60s }',
    '{ claims: { iss: "https://signin.example" } }',
    '{ claims: { /client_id: approvals } }',
    '{ claims: { authenticated_ago: { at_most: 60 } } }',
    // A person whose token lacks the claim passes it.
    '{ not: { claims: { role: trader } } }',
    '{ any: [{ claims: { role: a } }, { scope: read }] }',
    '{ all: [{ scope: read }] }',
  ])('refuses %s', async (by) => {
    expect(await refusalsOf(by)).toEqual([why]);
    expect(await refusalsOf(by, 'main, front_door')).toEqual([why]);
    // Its scopes are what each client of another server was granted.
    expect(await refusalsOf(by, 'main')).toEqual([]);
  });
});
