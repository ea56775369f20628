import gatewaySchema from '../../../schema/gateway.schema.json' with { type: 'json' };
import { gateway as validGateway, policy, policyLock, policyTest } from '../../../schema/validators.js';
import type { Path } from './problems.ts';
import { either, quoted } from '../lib/wording.ts';

/** A violation of a schema at one place, in words. */
export interface Violation {
  readonly path: Path;
  /** The part of the place that is wrong; `missing`: the mapping lacks a key. */
  readonly part: 'key' | 'value' | 'missing';
  readonly message: string;
}

/** ajv's function for each language. */
export const validators = {
  gateway: validGateway,
  policy,
  'policy-test': policyTest,
  'policy-lock': policyLock,
} as const;

/** A value in quotes for a message; `the value` if it is secret. */
export function quotedAt(path: Path, value: string): string {
  return isSecret(path) ? 'the value' : quoted(value);
}

export type { RestartKey } from '../../../schema/validators.js';

/** The part of JSON Schema that our schemas use, with annotations of our own (`x-…`). */
export interface Schema {
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, Schema>>;
  readonly title?: string;
  readonly description?: string;
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly required?: readonly string[];
  readonly minProperties?: number;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  /** Only `{ type: string }`: the branch of mappings. */
  readonly not?: Schema;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly examples?: readonly unknown[];
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  /** The value of an absent key. */
  readonly default?: unknown;
  /** The value is secret: no message shows it. */
  readonly writeOnly?: boolean;
  /** How the value is read: a row of a table in `forms.ts`. Default: by its type. */
  readonly 'x-form'?: string;
  /** `false`: it is no setting by itself. A reader has a parser of its own for it, or combines it with others. */
  readonly 'x-setting'?: boolean;
  /** The bounds of a duration or size. */
  readonly 'x-at-least'?: string;
  readonly 'x-at-most'?: string;
  /** A running gateway keeps the value that it started with. */
  readonly 'x-restart'?: boolean;
  /** The only routes on which the key has an effect: those that are not public, or those for MCP. */
  readonly 'x-routes'?: string;
  /** Follows the message about a key on another route. */
  readonly 'x-because'?: string;
  /** The value is the name of a claim. A placeholder in it is an error: it may stand for a secret. */
  readonly 'x-claim'?: boolean;
}

const PLACEHOLDER = '#/$defs/placeholder';

/** The schema of `gateway.yaml`. */
export const gateway: Schema = gatewaySchema;

/** A schema, merged with the definition of {@link gateway} that its `$ref` names. */
export function resolved(schema: Schema, root = gateway): Schema {
  const target = definition(root, schema);
  if (target === undefined) return schema;
  const { $ref: _, ...own } = schema;
  return { ...resolved(target, root), ...own };
}

/** The definition that the `$ref` of a schema names. */
export function definition(root: Schema, { $ref }: Schema): Schema | undefined {
  return $ref === undefined ? undefined : root.$defs?.[$ref.replace('#/$defs/', '')];
}

/** The schema of a member of a mapping or list; undefined where none is accepted. */
export function memberSchema(schema: Schema, key: string | number): Schema | undefined {
  const { properties, additionalProperties, items, anyOf = [] } = resolved(schema);
  const named = properties !== undefined && Object.hasOwn(properties, key) ? properties[key] : undefined;
  const member = typeof key === 'number' ? items : (named ?? additionalProperties);
  if (typeof member === 'object') return resolved(member);
  return anyOf.map((branch) => memberSchema(branch, key)).find((found) => found !== undefined);
}

/** Whether a text, of which no part is a placeholder, has the form of a schema. Numbers and bounds are not compared. */
export function acceptsText(schema: Schema, text: string): boolean {
  const { type, not, pattern, enum: words, const: word = text, anyOf } = resolved(schema);
  if (type === 'array' || not !== undefined || word !== text) return false;
  if (words?.includes(text) === false || (pattern !== undefined && !new RegExp(pattern, 'u').test(text))) return false;
  return anyOf?.some((branch) => branch.$ref !== PLACEHOLDER && acceptsText(branch, text)) ?? true;
}

/** The fault of a text that a schema does not accept, in words. */
export function textRefusal(schema: Schema): string {
  const [first, second] = resolved(schema).anyOf ?? [];
  return refusalOf(first?.not !== undefined && second !== undefined ? second : schema);
}

/** The words that a schema lists, if it does. */
export function wordsOf(schema: Schema): readonly string[] | undefined {
  return branches(schema)
    .find((branch) => branch.enum !== undefined)
    ?.enum?.map(String);
}

/** The branch of a schema that accepts numbers. */
export function numberIn(schema: Schema): Schema {
  return branches(schema).find(({ minimum }) => minimum !== undefined) ?? {};
}

function branches(schema: Schema): readonly Schema[] {
  const { anyOf = [] } = resolved(schema);
  return [resolved(schema), ...anyOf.map((branch) => resolved(branch))];
}

const types: Readonly<Record<string, string>> = {
  array: 'a list',
  boolean: 'true or false',
  integer: 'an integer',
  number: 'a number',
  object: 'a mapping',
  string: 'a string',
};

/** The types that a schema accepts. */
export function typeInWords({ type = [] }: Schema): string {
  return either([type].flat().map((name) => types[name] ?? name));
}

/** The form that a schema accepts: its title, or else a description from its keywords. */
export function expectation(written: Schema): string {
  const schema = resolved(written);
  if (schema.title !== undefined) return schema.title;
  if (schema.enum !== undefined) return either(schema.enum.map(String));
  if ('const' in schema) return JSON.stringify(schema.const);
  if (schema.examples !== undefined)
    return `in the form of ${either(schema.examples.map((example) => JSON.stringify(example)))}`;
  // The other branch is a placeholder, which may stand for any string.
  const [form] = schema.anyOf ?? [];
  if (form !== undefined && !('type' in form)) return expectation(form);
  const words = typeInWords(schema);
  return schema.required === undefined ? words : `${words} with ${schema.required.join(', ')}`;
}

/** The fault of a value that a schema does not accept; `expected` is the form that it does accept. */
export function refusalOf(schema: Schema, expected = expectation(schema)): string {
  const words = wordsOf(schema) ?? [];
  if (expected !== either(words) || words.length < 2) return `is not ${expected}`;
  const [first, second] = words;
  return words.length === 2 ? `is neither ${first} nor ${second}` : `is not one of ${words.join(', ')}`;
}

/** Every key of {@link gateway}, with its schema. Names of the operator's choice are `*`, indices of lists 0. */
export function everyKeySchema(schema: Schema = gateway, path: Path = []): readonly (readonly [Path, Schema])[] {
  const { properties = {}, additionalProperties, items, anyOf = [] } = resolved(schema);
  const keys: (readonly [Path, Schema])[] = anyOf.flatMap((branch) => everyKeySchema(branch, path));
  for (const [key, member] of Object.entries(properties)) {
    keys.push([[...path, key], resolved(member)], ...everyKeySchema(member, [...path, key]));
  }
  if (typeof additionalProperties === 'object') keys.push(...everyKeySchema(additionalProperties, [...path, '*']));
  if (items !== undefined) keys.push(...everyKeySchema(items, [...path, 0]));
  return keys;
}

const [secret, shown] = [true, false].map((isSecret) => {
  return new Set(
    everyKeySchema().flatMap(([path, { writeOnly = false }]) => (writeOnly === isSecret ? (path.at(-1) ?? []) : [])),
  );
});

/** Whether a value at this place is secret and never appears in a message, also where the key has no place. */
export function isSecret(path: Path): boolean {
  let schema: Schema | undefined = gateway;
  let isWithin = false;
  for (const key of path) {
    schema = schema && memberSchema(schema, key);
    isWithin = schema?.writeOnly ?? isWithin;
    if (schema === undefined && (isWithin || (secret?.has(key) === true && shown?.has(key) !== true))) return true;
  }
  return isWithin;
}
