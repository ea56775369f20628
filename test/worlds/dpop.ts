import { createProver, type OtherProof, type Prover } from '../support/prover.ts';
import { publicUrl, startWorld, type Answer, type World } from './gateway.ts';

/** A route for each setting of DPoP, and a client with a key. */
export interface DpopWorld extends World {
  readonly client: Prover;
  /** Signs a JWT for every route, bound to the client's key unless `claims` differ. */
  bound(claims?: Record<string, unknown>): Promise<string>;
  /** Sends a token with a proof. `by`: another key than the client's; the rest changes the proof. */
  prove(path: string, token: string, otherwise?: OtherProof & { readonly by?: Prover }): Promise<Answer>;
  /** Sends a token with any text as the proof. */
  show(path: string, token: string, proof?: string, method?: string): Promise<Answer>;
  /** The reason of the newest decision. */
  reason(): Promise<unknown>;
}

/** Starts it. */
export async function startDpopWorld(): Promise<DpopWorld> {
  const world = await startWorld({
    yaml: (issuer, upstream) => `
session_key: a-key-that-is-longer-than-thirty-two
authorization_servers:
  main:
    issuer: ${issuer}
    jwt: { algorithms: [RS256] }
    introspection: { client_id: gateway, client_secret: secret, cache: 30s }
routes:
  - { name: tools, path: /mcp, protocol: mcp, audience: a, policy: read, dpop: {}, upstream: { url: "${upstream}" } }
  - { name: api, path: /api, audience: a, policy: read, dpop: {}, upstream: { url: "${upstream}" } }
  - { name: required, path: /required, audience: a, resource: {}, dpop: { required: true }, upstream: { url: "${upstream}" } }
  - { name: nonce, path: /nonce, audience: a, dpop: { nonce: true }, upstream: { url: "${upstream}" } }
  - { name: narrow, path: /narrow, audience: a, dpop: { algorithms: [ES384], proof_lifetime: 5s }, upstream: { url: "${upstream}" } }
  - { name: plain, path: /plain, audience: a, resource: {}, policy: read, upstream: { url: "${upstream}" } }
`,
    policies: { read: 'scope: read\n' },
    upstream: (_request, response) => {
      response.writeHead(200, { 'dpop-nonce': 'of the upstream', 'cache-control': 'max-age=60' }).end();
    },
  });
  const client = await createProver('ES256', world.clock);
  const show: DpopWorld['show'] = (path, token, proof, method = 'GET') =>
    world.send(path, {
      method,
      headers: { authorization: `DPoP ${token}`, ...(proof !== undefined && { dpop: proof }) },
    });
  return {
    ...world,
    client,
    bound: (claims) => world.token({ scope: 'read', cnf: client.cnf, ...claims }),
    show,
    async prove(path, token, { by = client, ...otherwise } = {}) {
      const url = new URL(path, publicUrl);
      return show(path, token, await by.proof({ url: url.origin + url.pathname, token }, otherwise));
    },
    reason: async () => (await world.gateway.decision())['reason'],
  };
}
