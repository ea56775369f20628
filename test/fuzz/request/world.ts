import { startTestGateway, type TestGateway } from '../../support/gateway.ts';
import { startIssuer, type Issuer } from '../../support/issuer.ts';

/** A gateway with one route of each kind. Each route goes to `/u/NAME` at the same upstream. */
export interface World {
  readonly gateway: TestGateway;
  readonly issuer: Issuer;
  /** The token for each placeholder in a case. */
  readonly tokens: ReadonlyMap<string, string>;
  close(): Promise<void>;
}

/** The path of each route. No caller has the role that `admin` requires, so that no request may reach it. */
export const routes: ReadonlyMap<string, string> = new Map([
  ['tools', '/mcp'],
  ['notes', '/notes'],
  ['data', '/demo/data'],
  ['forwarded', '/forwarded'],
  ['open', '/public'],
  ['socket', '/socket'],
  ['admin', '/admin'],
  ['fallback', '/'],
]);

const policies = {
  tools: `
scope: read
tools:
  "get_*": {}
  transfer_funds: { scope: payments, claims: { role: trader }, arguments: { /amount: { at_most: 1000 } } }
resources: { "prices://*": {} }
prompts: { summary: {} }
`,
  any: '{}',
  data: 'scope: read',
  admin: 'claims: { role: admin }',
};

function routesYaml(upstream: string): string {
  const route = (name: string, more: string, upstreamMore = ''): string => `
  - name: ${name}
    path: ${routes.get(name)}
    upstream: { url: ${upstream}/u/${name}${upstreamMore} }
    ${more}`;
  const identity = ', identity: { x-auth-subject: sub, x-auth-client: client_id }';
  const http = 'audience: https://api.example';
  return [
    route('tools', 'protocol: mcp\n    policy: tools', identity),
    route('notes', 'protocol: mcp\n    policy: any', identity),
    route('data', `${http}\n    policy: data`, identity),
    route('forwarded', http, `${identity}, token: forward`),
    route('open', 'public: true'),
    route('socket', `${http}\n    upgrade: websocket`, identity),
    route('admin', `${http}\n    policy: admin`, identity),
    route('fallback', http, identity),
  ].join('');
}

/**
 * Starts the gateway in front of `upstream`, and calls `onLine` with each line of its log. The session key is fixed, so
 * that cases can contain handles.
 */
export async function startWorld(upstream: string, onLine: () => void): Promise<World> {
  const issuer = await startIssuer();
  const gateway = await startTestGateway({
    yaml: `
session_key: Zf8mQ2vXr7Lw1kTnB5cYhJ9sUeGdA3pR
limits: { request_body: 64KiB, failures: off }
authorization_servers:
  main:
    issuer: ${issuer.url}
    jwt: { algorithms: [RS256] }
    introspection: { client_id: gateway, client_secret: secret, cache: 1h }
routes:${routesYaml(upstream)}
`,
    policies,
    onLine,
  });
  return {
    gateway,
    issuer,
    tokens: await tokensOf(issuer),
    async close() {
      await gateway.close();
      await issuer.close();
    },
  };
}

async function tokensOf(issuer: Issuer): Promise<ReadonlyMap<string, string>> {
  const aud = ['http://gateway.test/mcp', 'http://gateway.test/notes', 'https://api.example'];
  const exp = Math.floor(Date.now() / 1000) + 86_400;
  const sign = (claims: Record<string, unknown>): Promise<string> => issuer.sign({ aud, exp, ...claims });
  issuer.introspection.set('opaque-carol', { active: true, sub: 'carol', client_id: 'c', aud, scope: 'read', exp });
  return new Map([
    ['{{alice}}', await sign({ sub: 'alice', client_id: 'a', scope: 'read', role: 'reader' })],
    ['{{bob}}', await sign({ sub: 'bob', scope: 'read payments', role: 'trader' })],
    ['{{carol}}', 'opaque-carol'],
    ['{{expired}}', await sign({ sub: 'alice', scope: 'read', exp: 1_700_000_000 })],
    ['{{elsewhere}}', await sign({ sub: 'alice', scope: 'read', aud: 'https://elsewhere.example' })],
  ]);
}
