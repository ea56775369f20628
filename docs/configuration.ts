/**
 * Writes `configuration.md` from the JSON Schemas, so that the page and the loader cannot differ:
 *
 *     npm run docs
 *
 * @module
 */

import { writeFile } from 'node:fs/promises';
import gatewaySchema from '../schema/gateway.schema.json' with { type: 'json' };
import policySchema from '../schema/policy.schema.json' with { type: 'json' };

/** The part of JSON Schema that our schemas use. */
interface Schema {
  readonly $ref?: string;
  readonly title?: string;
  readonly description?: string;
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly $defs?: Readonly<Record<string, Schema>>;
}

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
  return [intro, '## gateway.yaml\n', table(gatewaySchema), '## policies/NAME.yaml\n', table(policySchema)].join('\n');
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

function row(root: Schema, schema: Schema, path: string, described: Set<string>, required = false): string[] {
  const { description, title } = resolved(root, schema);
  const words = [required ? '**Required.**' : '', description ?? title ?? ''].filter((part) => part !== '');
  const own = words.length === 0 ? [] : [`| \`${path}\` | ${words.join(' ').replaceAll('|', '\\|')} |`];
  return [...own, ...below(root, schema, path, described)];
}

function below(root: Schema, schema: Schema, path: string, described: Set<string>): string[] {
  const ref = schema.$ref;
  if (ref !== undefined && described.has(ref)) return [];
  if (ref !== undefined) described.add(ref);
  return describe(root, resolved(root, schema), path, described);
}

/** The definition that a `$ref` names, merged with the keywords beside the `$ref`. */
function resolved(root: Schema, schema: Schema): Schema {
  const name = schema.$ref?.replace('#/$defs/', '');
  return name === undefined ? schema : { ...root.$defs?.[name], ...schema };
}

if (import.meta.main) await writeFile(new URL('configuration.md', import.meta.url), configurationPage());
