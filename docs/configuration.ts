/**
 * Writes `configuration.md` from the JSON Schemas, so that the page and the loader cannot differ:
 *
 *     npm run docs
 *
 * @module
 */

import { writeFile } from 'node:fs/promises';
import policy from '../schema/policy.schema.json' with { type: 'json' };
import { definition, gateway, resolved, type Schema } from '../src/config/keys.ts';

const intro = `# Configuration

\`gateway.yaml\` defines the routes and the authorization servers that they trust. Each \`policies/NAME.yaml\` is a policy: it
says which callers may call what. With the line \`# yaml-language-server: $schema=…\` at the top, editors with YAML support
complete and check both. [Policies](policies.md) explains the policy language.

- At start, the gateway refuses unknown keys, wrong types and contradictions. It reports all of them at once, each with file,
  line and column. \`sallyport check\` does the same without starting.
- \`\${env:NAME}\`, \`\${env:NAME:-default}\` and \`\${file:/run/secrets/x}\` work in any string. Their values never appear in an
  error, a log or a dump.
- Durations are \`500ms\`, \`30s\`, \`5m\`, \`1h\`; sizes \`16KiB\`, \`1MiB\`.

This page is generated from the schemas in \`schema/\` by \`npm run docs\`.
`;

/** The text of the page. */
export function configurationPage(): string {
  return [intro, '## gateway.yaml\n', table(gateway), '## policies/NAME.yaml\n', table(policy)].join('\n');
}

function table(root: Schema): string {
  const rows = describe(root, root, '', new Set());
  return `| key | |\n|---|---|\n${rows.join('\n')}\n`;
}

/** A row for each key below `schema`. A definition is described where it first appears. */
function describe(root: Schema, schema: Schema, path: string, described: Set<string>): string[] {
  const rows: string[] = [];
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

function row(root: Schema, schema: Schema, path: string, described: Set<string>, required = false): string[] {
  const { description, title, default: value, 'x-restart': needsRestart = false, ...more } = resolved(schema, root);
  const words = [
    required ? '**Required.**' : '',
    kinds[more['x-routes'] ?? ''] ?? '',
    description ?? title ?? '',
    // The bounds of the key alone: those of its form are usual.
    schema['x-at-most'] === undefined ? '' : `At most ${schema['x-at-most']}.`,
    needsRestart ? 'A change needs a restart.' : '',
    value === undefined ? '' : `Default: ${flow(value)}.`,
  ].filter((part) => part !== '');
  const own = words.length === 0 ? [] : [`| \`${path}\` | ${words.join(' ').replaceAll('|', '\\|')} |`];
  return [...own, ...below(root, schema, path, described)];
}

function below(root: Schema, schema: Schema, path: string, described: Set<string>): string[] {
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
