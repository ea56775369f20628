import { startWorld, type World } from './gateway.ts';

const AUDIENCE = 'https://api.example';

/**
 * Starts a gateway that proxies ask. Its tokens are for all routes but `/mcp`.
 *
 * @param options `forwardAuth`: more of `forward_auth`; `yaml`: more at the top level.
 */
export function startForwardAuthWorld({ forwardAuth = '', yaml = '' } = {}): Promise<World> {
  return startWorld({
    yaml: (issuer, upstream) => `forward_auth: { listen: "127.0.0.1:0"${forwardAuth} }
${yaml}
authorization_servers: { main: { issuer: "${issuer}", jwt: { algorithms: [RS256] } } }
routes:
  - name: api
    path: /
    audience: ${AUDIENCE}
    policy: api
    upstream: { url: "${upstream}", identity: { x-auth-subject: sub, x-auth-client: client_id } }
  - name: admin
    path: /admin
    audience: ${AUDIENCE}
    policy: admin
    upstream: { url: "${upstream}/admin" }
  - name: public
    path: /public
    public: true
    upstream: { url: "${upstream}/public" }
  - name: reads
    path: /reads
    methods: [GET, HEAD]
    audience: ${AUDIENCE}
    upstream: { url: "${upstream}/reads", token: forward }
  - name: signed
    path: /signed
    audience: ${AUDIENCE}
    upstream: { url: "${upstream}/signed", identity: { signed: { header: x-auth-identity, audience: them } } }
  - name: bound
    path: /bound
    audience: ${AUDIENCE}
    dpop: {}
    upstream: { url: "${upstream}/bound" }
  - name: tools
    path: /mcp
    protocol: mcp
    resource: { name: Tools }
    policy: tools
    refusals: { final: tool_error }
    upstream: { url: "${upstream}/mcp" }
`,
    policies: {
      api: 'scope: read',
      admin: 'scope: [read, admin]',
      tools: 'scope: read\ntools:\n  get_price: {}\n  pay: { scope: payments }\n',
    },
    claims: { aud: AUDIENCE, scope: 'read' },
  });
}
