/**
 * Writes what is made of the JSON Schemas and their fragments:
 *
 * - `gateway.schema.json` and `policy.schema.json`, of the core and the fragments of capabilities and of parts of the
 *   policy language.
 * - `validators.js`, by ajv: to load ajv and to compile the schemas at start would take more than 20 times as long as to
 *   load that.
 * - `validators.d.ts`: its types, the type of each section of `gateway.yaml`, and the types of policies.
 *
 *     npm run schemas
 *
 * @module
 */

import { writeFile } from 'node:fs/promises';
import { Ajv2020, type Vocabulary } from 'ajv/dist/2020.js';
import standalone from 'ajv/dist/standalone/index.js';
import { composedSchema } from './compose.ts';
import { documentTypes, type Schema } from './document-types.ts';
import policyLock from './policy-lock.schema.json' with { type: 'json' };
import policyTest from './policy-test.schema.json' with { type: 'json' };

type Root = Schema & { readonly $defs: Readonly<Record<string, Schema>> };

const gateway = JSON.parse(composedSchema('gateway')) as Root;
const policy = JSON.parse(composedSchema('policy')) as Root;

const intro = '// What is made of the schemas beside it; `npm run schemas` writes it anew.\n';

/** The keywords of our own, which only describe: `Schema` of src/core/config/schema.ts documents each. */
export const annotations: Vocabulary = [
  'x-at-least',
  'x-at-most',
  'x-restart',
  {
    keyword: 'x-routes',
    // The reader of routes would ignore another word, and the key would be accepted on every route.
    code({ schema, it: { errSchemaPath } }) {
      if (schema === 'protected' || schema === 'mcp' || schema === 'http') return;
      const place = `${errSchemaPath}/x-routes`;
      throw new Error(
        `x-routes is ${JSON.stringify(schema)}, which is neither "protected" nor "mcp" nor "http" (${place})`,
      );
    },
  },
  'x-because',
  'x-claim',
];

/** `validators.js` as it should be. It exports a function for each schema. */
export function validatorsModule(): string {
  const ajv = new Ajv2020({
    schemas: { gateway, 'policy.schema.json': policy, policyLock, policyTest },
    allErrors: true,
    // Puts the value and the schema that refused it into each error.
    verbose: true,
    strictTypes: false,
    keywords: annotations,
    code: { source: true, esm: true, lines: true },
  });
  // ajv requires its own parts even in an ES module: https://github.com/ajv-validator/ajv/issues/2209
  const required = /^const (\w+) = require\("(ajv\/dist\/runtime\/\w+)"\)\.default;$/gm;
  const code = standalone.default(ajv, {
    gateway: 'gateway',
    policy: 'policy.schema.json',
    policyLock: 'policyLock',
    policyTest: 'policyTest',
  });
  return `${intro}${code.replaceAll(required, "import $1Module from '$2.js';\nconst $1 = $1Module.default;")}\n`;
}

/** `validators.d.ts` as it should be. */
export function validatorsTypes(): string {
  const sections = Object.entries<Schema>(gateway.$defs).filter(([, { properties }]) => properties !== undefined);
  return `${intro}import type { ValidateFunction } from 'ajv';

export const gateway: ValidateFunction;
export const policy: ValidateFunction;
export const policyLock: ValidateFunction;
export const policyTest: ValidateFunction;

/** The keys of gateway.yaml. A key that has neither a value nor a default is undefined. */
export type GatewayKeys = ${typeOf(gateway)};
/** The keys of which a change needs a restart. */
export type RestartKey = ${restartKeys(gateway)
    .map((key) => JSON.stringify(key))
    .join(' | ')};
${sections.map(([name, schema]) => `export type ${typeName(name)} = ${typeOf(schema)};\n`).join('')}
${documentTypes(policy)}`;
}

function typeName(definition: string): string {
  return `${definition.charAt(0).toUpperCase()}${definition.slice(1)}Keys`;
}

/** The TypeScript of a schema. Where a word may stand for a mapping, and a placeholder for a word, only the former. */
function typeOf(schema: Schema): string {
  const { type = [], properties, additionalProperties, items, anyOf = [] } = schema;
  const [name, target] = definitionOf(schema);
  if (target !== undefined) return target.properties === undefined ? typeOf(target) : typeName(name);
  const words = schema.enum ?? anyOf.flatMap((branch) => branch.enum ?? []);
  if (words.length > 0) return words.map((word) => JSON.stringify(word)).join(' | ');
  if (items !== undefined) return `readonly (${typeOf(items)})[]`;
  if (typeof additionalProperties === 'object' && properties === undefined)
    return `Readonly<Record<string, ${typeOf(additionalProperties)}>>`;
  if (properties !== undefined) return mapping(properties, additionalProperties);
  const list = anyOf.find((branch) => branch.items !== undefined);
  if (list !== undefined) return typeOf(list);
  if (anyOf.some((branch) => branch.type === 'integer' || branch.type === 'number')) return 'number';
  return [type].flat().includes('boolean') ? 'boolean' : 'string';
}

function mapping(properties: Readonly<Record<string, Schema>>, others: Schema['additionalProperties']): string {
  const members = Object.entries(properties).map(([key, schema]) => {
    return `  readonly ${key}: ${typeOf(schema)}${hasDefault(schema) ? '' : ' | undefined'};\n`;
  });
  const index = typeof others === 'object' ? ' & Readonly<Record<string, unknown>>' : '';
  return `{\n${members.join('')}}${index}`;
}

/** The keys with `x-restart`, none of which is below a name of the operator's choice. */
export function restartKeys({ properties = {} }: Schema, above = ''): readonly string[] {
  return Object.entries(properties).flatMap(([key, schema]) => {
    const own = schema['x-restart'] === true ? [above + key] : [];
    return own.concat(restartKeys(schema, `${above}${key}.`));
  });
}

function hasDefault(schema: Schema): boolean {
  return schema.default !== undefined || definitionOf(schema)[1]?.default !== undefined;
}

function definitionOf({ $ref = '' }: Schema): readonly [name: string, definition: Schema | undefined] {
  const name = $ref.replace('#/$defs/', '');
  return [name, Object.entries<Schema>(gateway.$defs).find(([key]) => key === name)?.[1]];
}

if (import.meta.main) {
  for (const language of ['gateway', 'policy'] as const)
    await writeFile(new URL(`${language}.schema.json`, import.meta.url), composedSchema(language));
  await writeFile(new URL('validators.js', import.meta.url), validatorsModule());
  await writeFile(new URL('validators.d.ts', import.meta.url), validatorsTypes());
}
