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
import { documentTypes, type Schema as PolicySchema } from './document-types.ts';
import {
  type Form,
  formOf,
  parsedForms,
  parsers,
  quantities,
  settingName,
  textForms,
} from '../src/core/config/forms.ts';
import type { Schema } from '../src/core/config/schema.ts';
import policyLock from './policy-lock.schema.json' with { type: 'json' };
import policyTest from './policy-test.schema.json' with { type: 'json' };

type Root = Schema & { readonly $defs: Readonly<Record<string, Schema>> };

const gateway = JSON.parse(composedSchema('gateway')) as Root;
const policy = JSON.parse(composedSchema('policy')) as PolicySchema;

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
  'x-setting',
  {
    keyword: 'x-form',
    // A text would be read as it is, whatever the word means.
    code({ schema, it: { errSchemaPath } }) {
      if (Object.hasOwn({ ...parsers, ...quantities }, String(schema))) return;
      throw new Error(`x-form is ${JSON.stringify(schema)}, which no table of forms.ts has (${errSchemaPath}/x-form)`);
    },
  },
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
import type { parsedForms } from '../src/core/config/forms.ts';

type Parsed<Form extends keyof typeof parsedForms> = ReturnType<(typeof parsedForms)[Form]>;

declare const settings: unique symbol;
/** What \`Field.settings\` makes of a mapping. */
export type SettingsOf<Keys> =
  NonNullable<Keys> extends { readonly [settings]?: infer Settings } ? NonNullable<Settings> : never;

export const gateway: ValidateFunction;
export const policy: ValidateFunction;
export const policyLock: ValidateFunction;
export const policyTest: ValidateFunction;

/** The values of gateway.yaml as they are read. One that is neither there, nor required, nor has a default is undefined. */
export type GatewayKeys = ${mapping(gateway)};
/** The keys of which a change needs a restart. */
export type RestartKey = ${restartKeys(gateway)
    .map((key) => JSON.stringify(key))
    .join(' | ')};
${sections.map(([name, schema]) => `export type ${typeName(name)} = ${mapping(schema)};\n`).join('')}
${documentTypes(policy)}`;
}

function typeName(definition: string): string {
  return `${definition.charAt(0).toUpperCase()}${definition.slice(1)}Keys`;
}

/** The TypeScript of what is read. Where a word may stand for a mapping, only that of the mapping. */
function typeOf(schema: Schema): string {
  const { additionalProperties, items, properties } = resolved(schema);
  const [name, target] = definitionOf(schema);
  if (target?.properties !== undefined) return typeName(name);
  const form = formOf(schema, resolved);
  if (form !== undefined) return typeOfForm(form, schema);
  if (items !== undefined) return `readonly ${bracketed(typeOf(items))}[]`;
  if (typeof additionalProperties === 'object' && properties === undefined)
    return `Readonly<Record<string, ${typeOf(additionalProperties)}>>`;
  return properties === undefined ? 'unknown' : mapping(resolved(schema));
}

function typeOfForm(form: Form, schema: Schema): string {
  const { anyOf = [], ...own } = resolved(schema);
  const branches = [own, ...anyOf.map(resolved)];
  const words = branches.flatMap((branch) => branch.enum ?? []).map((word) => JSON.stringify(word));
  if (form === 'list') return `readonly ${bracketed(typeOf(branches.find(({ items }) => items)?.items ?? {}))}[]`;
  if (form === 'choice') return words.join(' | ');
  if (form === 'boolean') return 'boolean';
  if (form === 'number' || form in quantities) return 'number';
  return form in textForms ? 'string' : `Parsed<'${form}'>`;
}

function bracketed(type: string): string {
  return type.includes('|') ? `(${type})` : type;
}

function mapping({ properties = {}, required = [], additionalProperties: others }: Schema): string {
  const members = Object.entries(properties).map(([key, schema]) => {
    const form = formOf(schema, resolved);
    const isEmptyIfWrong = form !== undefined && !(form in parsedForms) && required.includes(key);
    const isThere = form === 'list' || resolved(schema).default !== undefined || isEmptyIfWrong;
    const type = `${typeOf(schema)}${isThere ? '' : ' | undefined'};\n`;
    return {
      form: resolved(schema)['x-setting'] === false ? undefined : form,
      key,
      type,
      description: `/** ${resolved(schema).description} */`,
    };
  });
  const keys = members.map(({ key, type }) => `readonly ${key}: ${type}`);
  const settings = members.flatMap(({ form, key, type, description }) =>
    form === undefined ? [] : `${description}\nreadonly ${settingName(key, form)}: ${type}`,
  );
  const index = typeof others === 'object' ? ' & Readonly<Record<string, unknown>>' : '';
  const inner = settings.length === 0 ? '' : `readonly [settings]?: {\n${settings.join('')}};\n`;
  return `{\n${keys.join('')}${inner}}${index}`;
}

/** The keys with `x-restart`, none of which is below a name of the operator's choice. */
export function restartKeys({ properties = {} }: Schema, above = ''): readonly string[] {
  return Object.entries(properties).flatMap(([key, schema]) => {
    const own = schema['x-restart'] === true ? [above + key] : [];
    return own.concat(restartKeys(schema, `${above}${key}.`));
  });
}

function resolved(schema: Schema): Schema {
  const [, target] = definitionOf(schema);
  const { $ref: _, ...own } = schema;
  return target === undefined ? schema : { ...resolved(target), ...own };
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
