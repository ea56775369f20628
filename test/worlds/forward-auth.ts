import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { startIssuer, type Issuer } from '../support/issuer.ts';
import { startUpstream, type Upstream } from '../support/upstream.ts';

/** A gateway that proxies ask, with the authorization server that it trusts and the upstream that they forward to. */
export interface ForwardAuthWorld {
  readonly issuer: Issuer;
  readonly upstream: Upstream;
  readonly gateway: TestGateway;
  /** A token for all of its routes but MCP. */
  token(claims?: Record<string, unknown>): Promise<string>;
  close(): Promise<void>;
}

const AUDIENCE = 'https://api.example';

/** Starts a world. `forwardAuth`: more of `forward_auth`; `yaml`: more at the top level. */
export async function startForwardAuthWorld({ forwardAuth = '', yaml = '' } = {}): Promise<ForwardAuthWorld> {
  const [issuer, upstream] = await Promise.all([startIssuer(), startUpstream()]);
  const gateway = await startTestGateway({
    yaml: `forward_auth: { listen: "127.0.0.1:0"${forwardAuth} }
${yaml}
authorization_servers: { main: { issuer: "${issuer.url}", jwt: { algorithms: [RS256] } } }
routes:
  - name: api
    path: /
    audience: ${AUDIENCE}
    policy: api
    upstream: { url: "${upstream.url}", identity: { x-auth-subject: sub, x-auth-client: client_id } }
  - name: admin
    path: /admin
    audience: ${AUDIENCE}
    policy: admin
    upstream: { url: "${upstream.url}/admin" }
  - name: public
    path: /public
    public: true
    upstream: { url: "${upstream.url}/public" }
  - name: reads
    path: /reads
    methods: [GET, HEAD]
    audience: ${AUDIENCE}
    upstream: { url: "${upstream.url}/reads", token: forward }
  - name: signed
    path: /signed
    audience: ${AUDIENCE}
    upstream: { url: "${upstream.url}/signed", identity: { signed: { header: x-auth-identity, audience: them } } }
  - name: bound
    path: /bound
    audience: ${AUDIENCE}
    dpop: {}
    upstream: { url: "${upstream.url}/bound" }
  - name: tools
    path: /mcp
    protocol: mcp
    resource: { name: Tools }
    policy: tools
    upstream: { url: "${upstream.url}/mcp" }
`,
    policies: {
      api: 'scope: read',
      admin: 'scope: [read, admin]',
      tools: 'scope: read\ntools:\n  get_price: {}\n  pay: { scope: payments }\n',
    },
  });
  return {
    issuer,
    upstream,
    gateway,
    token: (claims = {}) => issuer.sign({ aud: AUDIENCE, scope: 'read', ...claims }),
    async close() {
      await gateway.close();
      await Promise.all([issuer.close(), upstream.close()]);
    },
  };
}
