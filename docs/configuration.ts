/**
 * Writes `configuration.md` from the JSON Schemas, so that the page and the loader cannot differ:
 *
 *     npm run docs
 *
 * @module
 */

import { writeFile } from 'node:fs/promises';
import policy from '../schema/policy.schema.json' with { type: 'json' };
import { definition, gateway, resolved, type Schema } from '../src/config/schema.ts';

const intro = `# Configuration

\`gateway.yaml\` defines the routes and the authorization servers that they trust. Each \`policies/NAME.yaml\` is a
[policy](policies.md). With the line \`# yaml-language-server: $schema=…\` at the top, editors complete and check both.

- At start, the gateway refuses unknown keys, wrong types and contradictions, all at once, each with file, line and
  column. \`sallyport check\` does the same without starting.
- \`\${env:NAME}\`, \`\${env:NAME:-default}\` and \`\${file:/run/secrets/x}\` work in any string. Their values never appear in an
  error, a log or a dump: use them for every secret.
- Durations are \`500ms\`, \`30s\`, \`5m\`, \`1h\`, \`7d\`; sizes \`16KiB\`, \`1MiB\`.
- Each key of a policy is described once. The parts of \`any\`, \`all\` and \`not\` have the conditions of a policy, and so have
  entries, which have \`because\` too. The keys of an entry of \`tools\` also belong to entries of the other lists, but
  \`arguments\` only to prompts, and those of \`after\` to \`never_after\`.

\`npm run docs\` generates this page from the schemas in \`schema/\`. Each example loads as shown, with the keys of the
other sections.
`;

/** A part of the page: the keys that it describes with all below them, unless another section has these. */
interface Section {
  readonly heading: string;
  readonly keys: readonly string[];
  readonly example: string;
}

const gatewaySections: readonly Section[] = [
  {
    heading: 'Addresses and secrets',
    keys: ['public_url', 'listen', 'allowed_hosts', 'allowed_origins', 'policies', 'session_key'],
    example: `
public_url: https://mcp.example.com
listen: 0.0.0.0:8080
allowed_origins: [https://inspector.example.com]
session_key: \${env:SESSION_KEY} # openssl rand -base64 32`,
  },
  {
    heading: 'tls',
    keys: ['tls'],
    example: `
public_url: https://mcp.example.com
listen: 0.0.0.0:8443
tls: { cert: tls/tls.crt, key: tls/tls.key }`,
  },
  {
    heading: 'Proxies',
    keys: ['trusted_proxies', 'certificate_proxies', 'forward_auth'],
    example: `
trusted_proxies: [10.0.0.0/8]
forward_auth: { listen: 127.0.0.1:8081, trusted: [127.0.0.1] }`,
  },
  {
    heading: 'admin and console',
    keys: ['admin', 'console'],
    example: `
admin: { listen: 0.0.0.0:9090, hosts: [prometheus.internal], token: '\${env:ADMIN_TOKEN}' }
console: { grafana: https://grafana.example.com/d/sallyport }`,
  },
  {
    heading: 'authorization_servers and scopes',
    keys: ['authorization_servers', 'scopes', 'root_resource', 'oauth_endpoints_at_root'],
    example: `
authorization_servers:
  main:
    issuer: https://as.example.com
    jwt: { algorithms: [RS256] }
    introspection: { client_id: gateway, client_secret: '\${env:GATEWAY_CLIENT_SECRET}', cache: 30s }
scopes: { admin: [write], write: [read] }`,
  },
  {
    heading: 'routes',
    keys: ['routes'],
    example: `
routes:
  - name: tools
    path: /mcp
    protocol: mcp
    resource: { name: Tools, scopes_supported: [read, write] }
    refusals: { final: tool_error }
    upstream: { url: http://mcp:3001/mcp }
  - name: api
    path: /api
    audience: https://api.example.com
    methods: [GET]
    dpop: { required: true }
    upstream: { url: http://api:3000 }`,
  },
  {
    heading: 'routes: upstream',
    keys: ['routes[].upstream'],
    example: `
routes:
  - name: api
    path: /api
    audience: https://api.example.com
    upstream:
      url: http://api:3000
      identity: { x-auth-subject: sub, signed: x-auth-identity }
      token: exchange
      exchange: { client_id: gateway, client_secret: '\${env:GATEWAY_CLIENT_SECRET}', audience: https://backend.example.com }
      timeouts: { response: 10s }`,
  },
  {
    heading: 'approvals',
    keys: ['approvals'],
    example: `
approvals:
  authorization_servers: [main]
  notify: { url: https://chat.example.com/hook, secret: '\${env:HOOK_SECRET}' }`,
  },
  {
    heading: 'decision_points',
    keys: ['decision_points'],
    example: `
decision_points:
  acme: { url: https://pdp.example.com, token: '\${env:PDP_TOKEN}', timeout: 250ms }
routes:
  - name: tools
    path: /mcp
    protocol: mcp
    decision_point: acme
    upstream: { url: http://mcp:3001/mcp }`,
  },
  {
    heading: 'front_door',
    keys: ['front_door'],
    example: `
front_door:
  issuer: https://signin.example.com
  identity_providers:
    corporate:
      issuer: https://keycloak.example.com/realms/acme
      client_id: sallyport
      client_secret: \${env:PROVIDER_SECRET}
  clients: { metadata_documents: ['https://claude.ai/**'] }
  scopes: { read: { title: Read accounts } }
routes:
  - name: tools
    path: /mcp
    protocol: mcp
    authorization_servers: [front_door]
    upstream: { url: http://mcp:3001/mcp }`,
  },
  {
    heading: 'revocation',
    keys: ['revocation'],
    example: `
revocation:
  file: /var/lib/sallyport/revocations.jsonl
  events:
    okta: { issuer: https://acme.okta.com, subjects: main, token: '\${env:SSF_TOKEN}' }
  endpoint: { path: /revoke-subject, scope: revoke, subjects: main }`,
  },
  {
    heading: 'shared',
    keys: ['shared', 'on_store_failure'],
    example: `
session_key: \${env:SESSION_KEY}
shared: rediss://redis.example.com:6379
on_store_failure: open`,
  },
  {
    heading: 'limits',
    keys: ['limits'],
    example: `
limits:
  request_body: 2MiB
  rate: { requests: 50, per: 1s, burst: 100 }`,
  },
  {
    heading: 'log and telemetry',
    keys: ['log', 'telemetry'],
    example: `
log: { decisions: denials, file: decisions.jsonl }
telemetry: { otlp: http://collector:4318, sample: 0.1 }`,
  },
];

const policySections: readonly Section[] = [
  {
    heading: 'Policies: conditions',
    keys: ['scope', 'claims', 'any', 'all', 'not', 'acr', 'max_age', 'max_lifetime'],
    example: `
scope: read
any:
  - claims: { department: support }
  - { scope: break-glass, max_lifetime: 10m }`,
  },
  {
    heading: 'Policies: values',
    keys: ['claims.NAME'],
    example: `
claims:
  country: [SE, NO]
  risk: { integer: true, below: 50 }
  /realm_access/roles: { contains: trader }`,
  },
  {
    heading: 'Policies: entries',
    keys: ['tools', 'resources', 'prompts', 'methods', 'requests', 'lists'],
    example: `
scope: read
tools:
  'get_*': {}
  transfer_funds: { scope: payments, arguments: { /amount: { at_most: 1000 } } }
resources: { 'reports://**': {} }`,
  },
  {
    heading: 'Policies: rules over time',
    keys: ['tools.NAME.after', 'tools.NAME.never_after', 'tools.NAME.quota'],
    example: `
tools:
  approve: {}
  disburse:
    after: { tool: approve, within: 1h, same: [/claim_id] }
    quota: [{ sum: /amount, at_most: 5000, per: 1d }]`,
  },
  {
    heading: 'Policies: refusals',
    keys: ['because', 'mode', 'lock'],
    example: `
mode: shadow
because: Ask support@acme.example for access.
scope: read`,
  },
];

/** An item of a list. */
interface Row {
  readonly path: string;
  readonly text: string;
}

/** The text of the page. */
export function configurationPage(): string {
  return [
    intro,
    ...sections(gatewaySections, 'gateway.yaml', referring(describe(gateway, gateway, '', new Set()))),
    ...sections(policySections, 'policies/tools.yaml', once(describe(policy, policy, '', new Set()))),
  ].join('\n');
}

/** @throws Error for a key that no section has. */
function sections(parts: readonly Section[], file: string, rows: readonly Row[]): string[] {
  const keys = parts.flatMap((part) => part.keys).toSorted((a, b) => b.length - a.length);
  const keyOf = ({ path }: Row): string => {
    const key = keys.find((each) => path === each || path.startsWith(`${each}.`) || path.startsWith(`${each}[`));
    if (key === undefined) throw new Error(`no section of docs/configuration.ts has the key ${path}`);
    return key;
  };
  return parts.map((part) => {
    const own = rows
      .filter((each) => part.keys.includes(keyOf(each)))
      .map(({ path, text }) => `- \`${path}\`: ${text}`);
    return `## ${part.heading}\n\n\`\`\`yaml\n# ${file}${part.example}\n\`\`\`\n\n${own.join('\n')}\n`;
  });
}

/** A text that another key of the same name has too becomes a reference. */
function referring(rows: readonly Row[]): readonly Row[] {
  const first = firstOf(rows);
  return rows.map((each) => {
    const before = first.get(identity(each)) ?? each.path;
    return before === each.path ? each : { path: each.path, text: `As \`${before}\`.` };
  });
}

/** The rows without those of a key that is the same elsewhere: conditions of alternatives and of entries. */
function once(rows: readonly Row[]): readonly Row[] {
  const first = firstOf(rows);
  return rows.filter((each) => first.get(identity(each)) === each.path);
}

function firstOf(rows: readonly Row[]): ReadonlyMap<string, string> {
  // The shortest path: `not`, not `any[].not`.
  const longestFirst = rows.toReversed().toSorted((a, b) => b.path.length - a.path.length);
  return new Map(longestFirst.map((each) => [identity(each), each.path]));
}

function identity({ path, text }: Row): string {
  return `${path.slice(path.lastIndexOf('.') + 1)} ${text}`;
}

/** A row for each key below `schema`. A definition is described where it first appears. */
function describe(root: Schema, schema: Schema, path: string, described: Set<string>): Row[] {
  const rows: Row[] = [];
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    rows.push(
      ...row(root, property, path === '' ? name : `${path}.${name}`, described, schema.required?.includes(name)),
    );
  }
  if (typeof schema.additionalProperties === 'object' && path !== '') {
    rows.push(...row(root, schema.additionalProperties, `${path}.NAME`, described, false));
  }
  if (schema.items !== undefined) rows.push(...below(root, schema.items, `${path}[]`, described));
  return rows;
}

/** The routes on which a key has an effect. */
const kinds: Readonly<Record<string, string>> = { mcp: 'mcp only.', protected: 'Not on public routes.' };

function row(root: Schema, schema: Schema, path: string, described: Set<string>, required = false): Row[] {
  const { description, default: value, 'x-restart': needsRestart = false, ...more } = resolved(schema, root);
  const words = [
    required ? '**Required.**' : '',
    kinds[more['x-routes'] ?? ''] ?? '',
    description ?? '',
    // The bounds of the key alone: those of its form are usual.
    schema['x-at-most'] === undefined ? '' : `At most ${schema['x-at-most']}.`,
    needsRestart ? 'A change needs a restart.' : '',
    value === undefined ? '' : `Default: ${flow(value)}.`,
  ].filter((part) => part !== '');
  const own = words.length === 0 ? [] : [{ path, text: words.join(' ') }];
  return [...own, ...below(root, schema, path, described)];
}

function below(root: Schema, schema: Schema, path: string, described: Set<string>): Row[] {
  for (let target: Schema | undefined = schema; target?.$ref !== undefined; target = definition(root, target)) {
    if (described.has(target.$ref)) return [];
    described.add(target.$ref);
  }
  return describe(root, resolved(schema, root), path, described);
}

/** A value as YAML has it, on one line. */
function flow(value: unknown): string {
  if (Array.isArray(value)) return value.join(', ');
  if (typeof value !== 'object' || value === null) return String(value);
  const members = Object.entries(value).map(([key, member]) => `${key}: ${flow(member)}`);
  return `{ ${members.join(', ')} }`;
}

if (import.meta.main) await writeFile(new URL('configuration.md', import.meta.url), configurationPage());
