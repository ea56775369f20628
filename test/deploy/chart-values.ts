import { readFile } from 'node:fs/promises';

const template = (name: string) => readFile(new URL(`../../templates/${name}`, import.meta.url), 'utf8');
/** gateway.yaml and its policy, as `sallyport init` writes them. */
export const config = await template('gateway.yaml');
/** The policy. */
export const tools = await template('policies/tools.yaml');
/** The least that the chart wants. */
export const good = { config, policies: { tools }, sessionKey: { existingSecret: 'keys' } };

/** A front door, to append to gateway.yaml. */
export const frontDoor = `front_door:
  issuer: https://signin.example.com
  listen: 0.0.0.0:8090
`;

/** Every option at once. */
export const full = {
  ...good,
  image: { repository: 'registry.example/sallyport', digest: `sha256:${'a'.repeat(64)}` },
  imagePullSecrets: [{ name: 'registry' }],
  autoscaling: { enabled: true },
  shared: { existingSecret: 'redis' },
  adminToken: { existingSecret: 'operators' },
  env: { ISSUER: 'https://login.example', TIMES: 3 },
  secretEnv: { GATEWAY_CLIENT_SECRET: { secret: 'credentials', key: 'client-secret' } },
  secretFiles: { tls: { secret: 'gateway-tls' } },
  service: { type: 'LoadBalancer', port: 443, annotations: { a: 'b' } },
  ingress: {
    enabled: true,
    className: 'nginx',
    annotations: { a: 'b' },
    host: 'mcp.example.com',
    tlsSecret: 'mcp-tls',
  },
  networkPolicy: {
    clients: [{ ipBlock: { cidr: '10.0.0.0/8' } }],
    operators: [{ namespaceSelector: { matchLabels: { name: 'monitoring' } } }],
    egress: [{ to: [{ podSelector: { matchLabels: { app: 'mcp-server' } } }], ports: [{ port: 3001 }] }],
  },
  serviceMonitor: { enabled: true, labels: { release: 'prometheus' } },
  nodeSelector: { disk: 'ssd' },
  tolerations: [{ key: 'a', operator: 'Exists' }],
  affinity: { nodeAffinity: {} },
  priorityClassName: 'high',
  podAnnotations: { a: 'b' },
  podLabels: { team: 'a' },
  serviceAccount: { annotations: { a: 'b' } },
};
