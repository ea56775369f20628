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
    top: 'session_key: a-key-that-is-longer-than-thirty-two',
    server: 'jwt: { algorithms: [RS256] }, introspection: { client_id: gateway, client_secret: secret, cache: 30s }',
    routes: [
      'name: tools, path: /mcp, protocol: mcp, policy: read, dpop: {}',
      'name: api, path: /api, policy: read, dpop: {}',
      'name: required, path: /required, resource: {}, dpop: { required: true }',
      'name: nonce, path: /nonce, dpop: { nonce: true }',
      'name: narrow, path: /narrow, dpop: { algorithms: [ES384], proof_lifetime: 5s }',
      'name: plain, path: /plain, resource: {}, policy: read',
    ].map((route) => `${route}, audience: a, upstream: { url: "UPSTREAM" }`),
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
