/**
 * Writes `configuration.md` from the JSON Schemas, so that the page and the loader cannot differ:
 *
 *     npm run docs
 *
 * @module
 */

import { writeFile } from 'node:fs/promises';
import { isObject } from '../src/core/lib/json/own-member.ts';
import { definition, gateway, resolved, type Schema } from '../src/core/config/schema.ts';

const intro = `# Configuration

\`gateway.yaml\` defines the routes and the authorization servers that they trust. What callers may do is in
[policies](policies.md). With the line \`# yaml-language-server: $schema=…\` at the top, editors complete and explain the
keys of both.

- At start, the gateway refuses unknown keys, wrong types and contradictions, all at once, each with file, line and
  column. \`sallyport check\` does the same without starting.
- \`\${env:NAME}\`, \`\${env:NAME:-default}\` and \`\${file:/run/secrets/x}\` work in any string. Their values never appear in an
  error, a log or a dump: use them for every secret.
- Durations are \`500ms\`, \`30s\`, \`5m\`, \`1h\`, \`7d\`; sizes \`16KiB\`, \`1MiB\`. A relative path starts at the folder of this file.
- A key without a default has none. _Restart_: a change needs one. _Not public_: not for routes with \`public: true\`.
- Each example loads as shown, with the keys of the other sections.
`;

/** A part of the page: the keys that it describes with all below them, unless another section has these. */
interface Section {
  readonly heading: string;
  readonly keys: readonly string[];
  /** YAML, or the page that has an example. */
  readonly example: string;
}

const sections: readonly Section[] = [
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
    example: '[TLS and proxies](tls-and-proxies.md)',
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
    example: '[The front door](front-door.md#five-minutes)',
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
    example: '[Replicas](replicas.md)',
  },
  {
    heading: 'egress',
    keys: ['egress'],
    example: `
egress:
  proxy: http://proxy.internal:3128
  except: [.internal, 10.0.0.0/8]`,
  },
  {
    heading: 'limits',
    keys: ['limits'],
    example: '[Limits](limits.md)',
  },
  {
    heading: 'log and telemetry',
    keys: ['log', 'telemetry'],
    example: `
log: { decisions: denials, file: decisions.jsonl }
telemetry: { otlp: http://collector:4318, sample: 0.1 }`,
  },
];

/** An item of a list. */
interface Item {
  readonly path: string;
  readonly text: string;
}

/** The text of the page. @throws Error for a key that no section has. */
export function configurationPage(): string {
  const keys = sections.flatMap((section) => section.keys).toSorted((a, b) => b.length - a.length);
  const keyOf = (path: string): string => {
    const key = keys.find((each) => path === each || path.startsWith(`${each}.`) || path.startsWith(`${each}[`));
    if (key === undefined) throw new Error(`no section of docs/configuration.ts has the key ${path}`);
    return key;
  };
  const items = referring(itemsOf(gateway, '', new Set()));
  const parts = sections.map((section) => {
    const own = joined(items.filter(({ path }) => section.keys.includes(keyOf(path)))).map(
      ({ path, text }) => `- ${path}: ${text}`,
    );
    const example = section.example.startsWith('[')
      ? `${section.example} has an example.`
      : `\`\`\`yaml\n# gateway.yaml${section.example}\n\`\`\``;
    return `## ${section.heading}\n\n${example}\n\n${own.join('\n')}\n`;
  });
  return [intro, ...parts].join('\n');
}

/** A long text that another key of the same name has too becomes a reference to the shortest path. */
function referring(items: readonly Item[]): readonly Item[] {
  const identity = ({ path, text }: Item): string => `${path.slice(path.lastIndexOf('.') + 1)} ${text}`;
  const longestFirst = items.toReversed().toSorted((a, b) => b.path.length - a.path.length);
  const first = new Map(longestFirst.map((item) => [identity(item), item.path]));
  return items.map((item) => {
    const path = first.get(identity(item)) ?? item.path;
    return path === item.path || item.text.length < 80 || item.text.startsWith('**')
      ? item
      : { path: item.path, text: `As \`${path}\`.` };
  });
}

/** Items in a row that refer to one place are one item, whose path has all keys: `` `a.b`, `.c` ``. */
function joined(items: readonly Item[]): readonly Item[] {
  const rows: Item[] = [];
  for (const { path, text } of items) {
    const last = rows.at(-1);
    const [, place] = /^As `(.*)\.\w+`\.$/.exec(text) ?? [];
    const shared = place === undefined ? text : `As in \`${place}\`.`;
    if (last === undefined || place === undefined || last.text !== shared)
      rows.push({ path: `\`${path}\``, text: shared });
    else rows[rows.length - 1] = { path: `${last.path}, \`${path.slice(path.lastIndexOf('.'))}\``, text: shared };
  }
  return rows;
}

/** An item for each key below `schema`. A definition is described where it first appears. */
function itemsOf(schema: Schema, path: string, described: Set<string>): Item[] {
  const items = Object.entries(schema.properties ?? {}).flatMap(([name, property]) =>
    item(property, path === '' ? name : `${path}.${name}`, described, schema.required?.includes(name)),
  );
  if (typeof schema.additionalProperties === 'object' && path !== '') {
    items.push(...item(schema.additionalProperties, `${path}.NAME`, described, false));
  }
  if (schema.items !== undefined) items.push(...below(schema.items, `${path}[]`, described));
  return items;
}

/** The routes on which a key has an effect. */
const kinds: Readonly<Record<string, string>> = { mcp: 'mcp only.', protected: '_Not public._' };

function item(schema: Schema, path: string, described: Set<string>, required = false): Item[] {
  const { description, default: value, 'x-restart': needsRestart = false, ...more } = resolved(schema, gateway);
  const words = [
    required ? '**Required.**' : '',
    kinds[more['x-routes'] ?? ''] ?? '',
    description ?? '',
    // The bounds of the key alone: those of its form are usual.
    schema['x-at-most'] === undefined ? '' : `At most ${schema['x-at-most']}.`,
    needsRestart ? '_Restart._' : '',
    value === undefined || isEmpty(value) ? '' : `Default: ${flow(value)}.`,
  ].filter((part) => part !== '');
  const text = words.join(' ').replace(/ Default: none\.$/, '');
  // A name of the operator's choice needs no item that only says what its mapping says.
  const isSaid = text === '' || (path.endsWith('.NAME') && text.split(' ').length < 4);
  const own = isSaid ? [] : [{ path, text }];
  return [...own, ...below(schema, path, described)];
}

function below(schema: Schema, path: string, described: Set<string>): Item[] {
  for (let target: Schema | undefined = schema; target?.$ref !== undefined; target = definition(gateway, target)) {
    if (described.has(target.$ref)) return [];
    described.add(target.$ref);
  }
  return itemsOf(resolved(schema, gateway), path, described);
}

/** A mapping whose keys have defaults of their own. */
function isEmpty(value: unknown): boolean {
  return isObject(value) && Object.keys(value).length === 0;
}

/** A value as YAML has it, on one line. */
function flow(value: unknown): string {
  if (Array.isArray(value)) return value.join(', ');
  if (typeof value !== 'object' || value === null) return String(value);
  const members = Object.entries(value).map(([key, member]) => `${key}: ${flow(member)}`);
  return `{ ${members.join(', ')} }`;
}

if (import.meta.main) await writeFile(new URL('configuration.md', import.meta.url), configurationPage());
