/** A configuration or a policy that uses a capability or a part of the policy language. */
export interface Example {
  /** The path of the key, as `check` prints it. */
  readonly key: string;
  /** What `check` says of the key; default: that it is unknown. */
  readonly refusal?: string;
  /** Members of `gateway.yaml`. */
  readonly top?: object;
  /** Members of its route. */
  readonly route?: object;
  /** The policy of the route. */
  readonly policy?: object;
}

const url = 'http://127.0.0.1:1';

/** By the names of folders. A name has several where it adds keys to several languages, or several keys. */
export const examples: Readonly<Record<string, readonly Example[]>> = {
  approvals: [
    { key: 'approvals', top: { approvals: { authorization_servers: [] } } },
    { key: 'tools.pay.approval', policy: { tools: { pay: { approval: { by: {} } } } } },
  ],
  'audit-chain': [{ key: 'log.chain', top: { log: { chain: { key: 'audit.json' } } } }],
  concurrency: [{ key: 'routes[0].upstream.concurrency', route: { upstream: { url, concurrency: { calls: 1 } } } }],
  console: [{ key: 'console', top: { console: { grafana: url } } }],
  'decision-points': [{ key: 'decision_points', top: { decision_points: { acme: { url } } } }],
  egress: [{ key: 'egress', top: { egress: { proxy: url } } }],
  exchange: [
    {
      key: 'routes[0].upstream.exchange',
      route: { upstream: { url, token: 'exchange', exchange: { client_id: 'a', client_secret: 'b' } } },
    },
  ],
  'forward-auth': [{ key: 'forward_auth', top: { forward_auth: { listen: '127.0.0.1:8081' } } }],
  history: [
    { key: 'tools.pay.quota', policy: { tools: { pay: { quota: [{ count: 1, per: '1h' }] } } } },
    { key: 'tools.pay.after', policy: { tools: { pay: { after: { tool: 'a', within: '1h' } } } } },
  ],
  inner: [{ key: 'tools.pay.inner', policy: { tools: { pay: { inner: { name: '/tool' } } } } }],
  lock: [{ key: 'lock', policy: { lock: 'deny' } }],
  possession: [{ key: 'routes[0].dpop', route: { dpop: {} } }],
  revocation: [{ key: 'revocation', top: { revocation: {} } }],
  'shared-store': [{ key: 'shared', top: { shared: 'redis://127.0.0.1:1' } }],
  'signed-identity': [
    {
      key: 'routes[0].upstream.identity.signed',
      // Any name of a header is a key there.
      refusal: 'expected the name of a claim',
      route: { upstream: { url, identity: { signed: { header: 'x-caller' } } } },
    },
  ],
  traces: [{ key: 'telemetry', top: { telemetry: { otlp: url } } }],
  websockets: [{ key: 'routes[0].upgrade', route: { upgrade: 'websocket' } }],
  'upstream-headers': [{ key: 'routes[0].upstream.headers', route: { upstream: { url, headers: { 'x-own': 'a' } } } }],
};
