import { startWorld, type World } from './gateway.ts';

const AUDIENCE = 'https://api.example';

const route = (path: string, own: string, upstream = ''): string =>
  `${own}, path: ${path}, audience: "${AUDIENCE}", upstream: { url: "UPSTREAM${path === '/' ? '' : path}"${upstream && `, ${upstream}`} }`;

/**
 * Starts a gateway that proxies ask. Its tokens are for all routes but `/mcp`.
 *
 * @param options `forwardAuth`: more of `forward_auth`; `yaml`: more at the top level.
 */
export function startForwardAuthWorld({ forwardAuth = '', yaml = '' } = {}): Promise<World> {
  return startWorld({
    top: `forward_auth: { listen: "127.0.0.1:0"${forwardAuth} }\n${yaml}`,
    routes: [
      route('/', 'name: api, policy: api', 'identity: { x-auth-subject: sub, x-auth-client: client_id }'),
      route('/admin', 'name: admin, policy: admin'),
      'name: public, path: /public, public: true, upstream: { url: "UPSTREAM/public" }',
      route('/reads', 'name: reads, methods: [GET, HEAD]', 'token: forward'),
      route('/signed', 'name: signed', 'identity: { signed: { header: x-auth-identity, audience: them } }'),
      route('/bound', 'name: bound, dpop: {}'),
      'name: tools, path: /mcp, protocol: mcp, resource: { name: Tools }, policy: tools, refusals: { final: tool_error }, upstream: { url: "UPSTREAM/mcp" }',
    ],
    policies: {
      api: 'scope: read',
      admin: 'scope: [read, admin]',
      tools: 'scope: read\ntools:\n  get_price: {}\n  pay: { scope: payments }\n',
    },
    claims: { aud: AUDIENCE, scope: 'read' },
  });
}
