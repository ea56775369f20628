/**
 * What is wrong with a document, in words. It is loaded for the first document that is not valid.
 *
 * @module
 */

import type { ErrorObject } from 'ajv';
import { isObject, ownMember } from '../lib/json/own-member.ts';
import { pointerKey } from '../lib/json/pointer.ts';
import { didYouMean, quoted } from '../lib/wording.ts';
import { type Path, pathText } from './problems.ts';
import {
  everyKeySchema,
  expectation,
  gateway,
  isSecret,
  memberSchema,
  quotedAt,
  refusalOf,
  resolved,
  type Schema,
  typeInWords,
  validators,
  type Violation,
} from './schema.ts';
import { schemas } from './schemas.ts';

/** All violations of its schema in a document, at most one for each place, in no order. */
export function violations(language: keyof typeof validators, document: unknown): Violation[] {
  const validate = validators[language];
  if (validate(document)) return [];
  const errors = withoutMisspelled(withoutNoise(validate.errors ?? []));
  const found = new Map<string, Violation>();
  for (const error of errors) {
    const path = pathOf(error.instancePath, document);
    const violation = (language === 'gateway' && placeholderMeant(error, path)) || inWords(error, path, language);
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

function inWords(error: ErrorObject, path: Path, language: keyof typeof validators): Violation {
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
      return {
        path: [...path, key],
        part: 'key',
        message: unknownKey(key, parentSchema?.['properties'] ?? {}, path, language),
      };
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

/**
 * The remedy for a value of the wrong type, as the end of a message; empty without one.
 *
 * @param schema What the value should be.
 */
function remedyFor(found: unknown, { type = [], required = [], minProperties = 0, properties = {} }: Schema): string {
  const types = [type].flat();
  if (typeof found === 'string' && types.includes('boolean') && /^(?:yes|no|on|off)$/i.test(found)) {
    return `; ${quoted(found)} is a text in YAML 1.2: write ${/^(?:yes|on)$/i.test(found)}`;
  }
  const wanted = types.length === 1 ? types[0] : undefined;
  const isNumeric = types.some((each) => each === 'number' || each === 'integer') && !types.includes('string');
  if (isNumeric && typeof found === 'string' && /^-?[0-9]{1,15}$/.test(found)) {
    return `; write ${found} without quotes`;
  }
  if (isNumeric && typeof found === 'string' && /^-?[0-9]{1,3}(?:[_,' ][0-9]{3})+$/.test(found)) {
    return `; write ${found.replaceAll(/[^-0-9]/g, '')}`;
  }
  if (wanted === 'object' && Array.isArray(found)) return '; write its entries as keys, without "- "';
  if (wanted === 'object' && (found === null || found === true || found === 'allow')) {
    return required.length === 0 && minProperties === 0 ? '; write {} for an empty one' : '';
  }
  if (wanted === 'object' && found === 'deny') return '; remove it: what is not listed is denied';
  const keys = Object.keys(properties);
  if (wanted === 'object' && typeof found !== 'object' && required.length === 0 && keys.length > 0 && keys.length < 12)
    return `; its keys are ${keys.join(', ')}`;
  if (wanted === 'string' && isObject(found) && typeof found['claim'] === 'string')
    return '; { claim: NAME } has no meaning here: equals, one_of, contains, within and bounds take it';
  if (wanted === 'array' && typeof found === 'string') return '; put it in [ ]';
  return wanted === 'array' && isObject(found) ? '; begin each entry with "- "' : '';
}

/**
 * The remedy for a name in the place of a JSON Pointer, as the end of a message; empty without one.
 *
 * @param pattern The keyword of the schema.
 */
function pointerRemedy(pattern: string | undefined, name: string): string {
  if (pattern !== '^/' || !/^(?:\$\.)?[A-Za-z_][\w-]*(?:[./][\w-]+)*$/.test(name)) return '';
  return `; write ${quoted(`/${name.replace(/^\$\./, '').replaceAll('.', '/')}`)}`;
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
  calls: [schemas.policy, '`calls: strict` is a key of the policy, beside `lock`'],
  headers: [schemas.gateway.$defs.upstream, 'it is a key of routes[].upstream in gateway.yaml'],
  inner: [schemas.policy.$defs.call, 'it is a key of an entry of tools'],
  variables: [schemas.policy.$defs.addressed, 'it is a key of an entry of resources or requests'],
};

function unknownKey(key: string, properties: object, path: Path, language: keyof typeof validators): string {
  const accepted = Object.keys(properties);
  const synonym = Object.hasOwn(synonyms, key) ? synonyms[key] : undefined;
  const near = synonym !== undefined && accepted.includes(synonym) ? synonym : didYouMean(key, accepted);
  const home = slip(key) ?? farHome(key, path) ?? homeAbove(key, path, language) ?? placesOf(key, path);
  const elsewhere = home === undefined ? conditionHint(accepted) : ` (${home})`;
  const hint = near === undefined ? elsewhere : ` (did you mean ${near}?)`;
  return `unknown key${hint}; accepted: ${accepted.join(', ')}`;
}

/** What is no key at all. */
function slip(key: string): string | undefined {
  if (key === '<<') return 'YAML 1.2 has no merge key: write the keys themselves';
  return /^[0-9]{3}$/.test(key) ? 'a comma in { } ends a value: write a number without it' : undefined;
}

/** The nearest mapping around the one at `path` that has a key: it is indented too far. */
function homeAbove(key: string, path: Path, language: keyof typeof validators): string | undefined {
  if (language === 'policy')
    return path.length > 0 && Object.hasOwn(schemas.policy.properties, key)
      ? 'it is a key of the policy itself'
      : undefined;
  if (language !== 'gateway') return undefined;
  for (let depth = path.length - 1; depth >= 0; depth -= 1) {
    const above = path.slice(0, depth);
    const schema = above.reduce<Schema | undefined>((around, step) => around && memberSchema(around, step), gateway);
    if (Object.hasOwn(resolved(schema ?? {}).properties ?? {}, key))
      return depth === 0 ? 'it is a key of the top level' : `it is a key of ${pathText(above)}`;
  }
  return undefined;
}

/** Where a key of {@link homes} belongs. */
function farHome(key: string, path: Path): string | undefined {
  const [schema, home] = (path.length <= 2 && Object.hasOwn(homes, key) && homes[key]) || [];
  return schema !== undefined && Object.hasOwn(schema.properties, key) ? home : undefined;
}

/**
 * The mapping of `gateway.yaml` that has a key; at the top there may be two. Deeper down, a common word such as `key`
 * would be looked for far away.
 */
function placesOf(key: string, path: Path): string | undefined {
  if (path.length > 2) return undefined;
  const places = new Set(
    everyKeySchema()
      .filter(([place]) => place.length > 1 && place.at(-1) === key)
      .map(([place]) =>
        place
          .slice(0, -1)
          .map((step) => (step === 0 ? '[]' : `.${step}`))
          .join('')
          .slice(1),
      ),
  );
  const isClear = places.size === 1 || (places.size === 2 && path.length === 0);
  return isClear ? `it is a key of ${[...places].join(' and of ')} in gateway.yaml` : undefined;
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
