import type { ErrorObject } from 'ajv';
import gatewaySchema from '../../../schema/gateway.schema.json' with { type: 'json' };
import policySchema from '../../../schema/policy.schema.json' with { type: 'json' };
import policyLockSchema from '../../../schema/policy-lock.schema.json' with { type: 'json' };
import policyTestSchema from '../../../schema/policy-test.schema.json' with { type: 'json' };
import { gateway as validGateway, policy, policyLock, policyTest } from '../../../schema/validators.js';
import { isObject, ownMember } from '../lib/json/own-member.ts';
import { pointerKey } from '../lib/json/pointer.ts';
import type { Path } from './problems.ts';
import { pointerRemedy, remedyFor } from './remedies.ts';
import { didYouMean, either, quoted } from '../lib/wording.ts';

/** A violation of a schema at one place, in words. */
export interface Violation {
  readonly path: Path;
  /** The part of the place that is wrong; `missing`: the mapping lacks a key. */
  readonly part: 'key' | 'value' | 'missing';
  readonly message: string;
}

/** The JSON Schemas, by the language that they describe. */
export const schemas = {
  gateway: gatewaySchema,
  policy: policySchema,
  'policy-test': policyTestSchema,
  'policy-lock': policyLockSchema,
} as const;

const validators = { gateway: validGateway, policy, 'policy-test': policyTest, 'policy-lock': policyLock } as const;

/** All violations of its schema in a document, at most one for each place, in no order. */
export function violations(language: keyof typeof schemas, document: unknown): Violation[] {
  const validate = validators[language];
  if (validate(document)) return [];
  const errors = withoutMisspelled(withoutNoise(validate.errors ?? []));
  const found = new Map<string, Violation>();
  for (const error of errors) {
    const path = pathOf(error.instancePath, document);
    const violation = (language === 'gateway' && placeholderMeant(error, path)) || inWords(error, path);
    const key = JSON.stringify([violation.path, violation.part === 'missing' ? violation.message : '']);
    if (!found.has(key)) found.set(key, violation);
  }
  return [...found.values()];
}

/** Keywords whose errors say what is wrong, rather than that a value is none of several alternatives. */
const specific = new Set([
  'additionalProperties',
  'required',
  'minItems',
  'minLength',
  'minProperties',
  'uniqueItems',
  'propertyNames',
]);

/** Drops ajv's errors for the branches of an `anyOf`, and the `anyOf` itself if a branch has a more specific error. */
function withoutNoise(errors: readonly ErrorObject[]): ErrorObject[] {
  const real = errors.filter(
    ({ propertyName, keyword }) => keyword !== 'if' && (propertyName === undefined || keyword === 'propertyNames'),
  );
  // The errors of a branch come before that of its `anyOf`: the last one of a place is the outermost.
  const choices = new Map(
    real.filter(({ keyword }) => keyword === 'anyOf').map((error) => [error.instancePath, error]),
  );
  return real.filter((error) => {
    const { instancePath, keyword } = error;
    const choice = choices.get(instancePath);
    if (choice === undefined || specific.has(keyword)) return true;
    if (error !== choice) return false;
    return !real.some(
      (other) =>
        other.instancePath.startsWith(`${instancePath}/`) ||
        (other.instancePath === instancePath && specific.has(other.keyword)),
    );
  });
}

/** Drops `missing key: upstream` where the mapping has `upsteam`, whose message names both. */
function withoutMisspelled(errors: readonly ErrorObject[]): readonly ErrorObject[] {
  const meant = new Set(
    errors
      .filter(({ keyword }) => keyword === 'additionalProperties')
      .map(({ instancePath, params, parentSchema }) =>
        placeOf(instancePath, keyMeantBy(String(params['additionalProperty']), parentSchema)),
      ),
  );
  return errors.filter(
    ({ keyword, instancePath, params }) =>
      keyword !== 'required' || !meant.has(placeOf(instancePath, String(params['missingProperty']))),
  );
}

function placeOf(instancePath: string, key: string | undefined): string {
  return JSON.stringify([instancePath, key]);
}

function keyMeantBy(key: string, schema: ErrorObject['parentSchema']): string | undefined {
  return didYouMean(key, Object.keys((schema?.['properties'] ?? {}) as object));
}

/** A placeholder that is written as a mapping, `{ file: PATH }`, where a text is accepted. */
function placeholderMeant({ data, parentSchema }: ErrorObject, path: Path): Violation | undefined {
  const schema = (parentSchema ?? {}) as Schema;
  const { type = [] } = schema;
  const [[kind, source] = [''], ...others] = isObject(data) ? Object.entries(data) : [];
  const isMeant = /^(?:file|env)$/.test(kind) && typeof source === 'string' && /^[\w./-]+$/.test(source);
  if (!isMeant || others.length > 0 || ![type].flat().includes('string')) return undefined;
  const message = `expected ${expectation(schema)}, found a mapping; write \${${kind}:${source}}`;
  return { path, part: 'value', message };
}

function inWords(error: ErrorObject, path: Path): Violation {
  const { keyword, params, data, parentSchema } = error as ErrorObject<string, Record<string, unknown>> & {
    readonly parentSchema?: Schema & { readonly propertyNames?: Schema };
  };
  // The title of the whole is the language's name.
  const expected = path.length === 0 ? typeInWords(parentSchema ?? {}) : expectation(parentSchema ?? {});
  switch (keyword) {
    case 'additionalProperties': {
      const key = String(params['additionalProperty']);
      // The key may be the secret, misplaced, unless it is close to one that is accepted.
      if (isSecret(path) && keyMeantBy(key, parentSchema) === undefined) {
        const accepted = Object.keys(parentSchema?.['properties'] ?? {}).join(', ');
        return { path, part: 'value', message: `has an unknown key; accepted: ${accepted}` };
      }
      return { path: [...path, key], part: 'key', message: unknownKey(key, parentSchema?.['properties'] ?? {}, path) };
    }
    case 'required':
      return { path, part: 'missing', message: `missing key: ${String(params['missingProperty'])}` };
    case 'propertyNames': {
      const key = String(params['propertyName']);
      const { propertyNames = {} } = parentSchema ?? {};
      const message = `the key is not ${expectation(propertyNames)}${pointerRemedy(propertyNames.pattern, key)}`;
      return { path: [...path, key], part: 'key', message: key === '' ? 'an empty key' : message };
    }
    case 'minItems':
    case 'minLength':
    case 'minProperties':
      return { path, part: 'value', message: 'must not be empty' };
    case 'maxProperties': {
      const own = 'caller' in Object(data) ? 'caller' : 'claim';
      const others = Object.keys(Object(data)).filter((key) => key !== own);
      return { path, part: 'value', message: `${own} stands alone; remove ${others.join(', ')}` };
    }
    case 'uniqueItems':
      return {
        path: [...path, Math.max(Number(params['i']), Number(params['j']))],
        part: 'value',
        message: 'is listed twice',
      };
    case 'pattern':
    case 'enum':
    case 'anyOf':
      if (typeof data === 'string') {
        const refusal = `${refusalOf(parentSchema ?? {}, expected)}${pointerRemedy(parentSchema?.pattern, data)}`;
        return { path, part: 'value', message: `${quotedAt(path, data)} ${refusal}` };
      }
      break;
    default:
  }
  const remedy = remedyFor(data, parentSchema ?? {});
  return { path, part: 'value', message: `expected ${expected}, found ${kindOf(data, path)}${remedy}` };
}

/** Names of keys in other languages. */
const synonyms: Readonly<Record<string, string>> = {
  equal: 'equals',
  eq: 'equals',
  in: 'one_of',
  enum: 'one_of',
  less_than: 'below',
  lt: 'below',
  max: 'at_most',
  maximum: 'at_most',
  lte: 'at_most',
  greater_than: 'above',
  gt: 'above',
  min: 'at_least',
  minimum: 'at_least',
  gte: 'at_least',
  regex: 'matches',
  pattern: 'matches',
  exists: 'present',
  secret: 'client_secret',
  certificate: 'cert',
};

/** Where keys belong that people write elsewhere, besides those that one mapping of `gateway.yaml` has. */
const homes: Readonly<Record<string, readonly [schema: { readonly properties: object }, home: string]>> = {
  calls: [policySchema, '`calls: strict` is a key of the policy, beside `lock`'],
  headers: [gatewaySchema.$defs.upstream, 'it is a key of routes[].upstream in gateway.yaml'],
  inner: [policySchema.$defs.call, 'it is a key of an entry of tools'],
  variables: [policySchema.$defs.addressed, 'it is a key of an entry of resources or requests'],
};

function unknownKey(key: string, properties: object, path: Path): string {
  const accepted = Object.keys(properties);
  const synonym = Object.hasOwn(synonyms, key) ? synonyms[key] : undefined;
  const near = synonym !== undefined && accepted.includes(synonym) ? synonym : didYouMean(key, accepted);
  // Deeper down, a common word such as `key` would be looked for far away.
  const home = near === undefined && path.length <= 2 ? homeOf(key) : undefined;
  const elsewhere = home === undefined ? conditionHint(accepted) : ` (${home})`;
  const hint = near === undefined ? elsewhere : ` (did you mean ${near}?)`;
  return `unknown key${hint}; accepted: ${accepted.join(', ')}`;
}

function homeOf(key: string): string | undefined {
  const [schema, home] = (Object.hasOwn(homes, key) && homes[key]) || [];
  if (schema !== undefined && Object.hasOwn(schema.properties, key)) return home;
  const place = placeOfKey(key);
  return place === undefined ? undefined : `it is a key of ${place} in gateway.yaml`;
}

/** Where a policy (it alone has `not`) has what people write beside its conditions: the name of a claim or argument. */
function conditionHint(accepted: readonly string[]): string {
  if (!accepted.includes('claims') || !accepted.includes('not')) return '';
  return ` (write a claim under claims${accepted.includes('arguments') ? ', an argument under arguments' : ''})`;
}

/** The kind of a value. Strings and lists are not shown: they may hold secrets, and are of the wrong kind anyway. */
function kindOf(value: unknown, path: Path): string {
  if (value === null) return 'nothing';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'a mapping';
  if (typeof value === 'string') return 'a string';
  return isSecret(path) ? `a ${typeof value}` : JSON.stringify(value);
}

/** A value in quotes for a message; `the value` if it is secret. */
export function quotedAt(path: Path, value: string): string {
  return isSecret(path) ? 'the value' : quoted(value);
}

/** A JSON Pointer as path: an index where the document has a list. */
function pathOf(pointer: string, document: unknown): Path {
  const path: (string | number)[] = [];
  let place = document;
  for (const token of pointer.split('/').slice(1)) {
    const key = pointerKey(token);
    path.push(Array.isArray(place) ? Number(key) : key);
    place = ownMember(place, key);
  }
  return path;
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

/** Every signature algorithm that may be accepted. */
export const signatureAlgorithms = wordsOf(memberSchema({ $ref: '#/$defs/algorithms' }, 0) ?? {}) ?? [];

const types: Readonly<Record<string, string>> = {
  array: 'a list',
  boolean: 'true or false',
  integer: 'an integer',
  number: 'a number',
  object: 'a mapping',
  string: 'a string',
};

function typeInWords({ type = [] }: Schema): string {
  return either([type].flat().map((name) => types[name] ?? name));
}

/** The form that a schema accepts: its title, or else a description from its keywords. */
function expectation(written: Schema): string {
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
function refusalOf(schema: Schema, expected = expectation(schema)): string {
  const words = wordsOf(schema) ?? [];
  if (expected !== either(words) || words.length < 2) return `is not ${expected}`;
  const [first, second] = words;
  return words.length === 2 ? `is neither ${first} nor ${second}` : `is not one of ${words.join(', ')}`;
}

/** The mapping of `gateway.yaml` that has a key, if there is exactly one: `routes[].upstream`. */
function placeOfKey(key: string): string | undefined {
  const places = new Set(
    everyKeySchema()
      .filter(([path]) => path.length > 1 && path.at(-1) === key)
      .map(([path]) =>
        path
          .slice(0, -1)
          .map((step) => (step === 0 ? '[]' : `.${step}`))
          .join('')
          .slice(1),
      ),
  );
  const [place, ...others] = places;
  return others.length === 0 ? place : undefined;
}

/** Every key of {@link gateway}, with its schema. Names of the operator's choice are `*`, indices of lists 0. */
function everyKeySchema(schema: Schema = gateway, path: Path = []): readonly (readonly [Path, Schema])[] {
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
