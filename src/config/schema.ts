import type { ErrorObject } from 'ajv';
import gatewaySchema from '../../schema/gateway.schema.json' with { type: 'json' };
import policySchema from '../../schema/policy.schema.json' with { type: 'json' };
import policyLockSchema from '../../schema/policy-lock.schema.json' with { type: 'json' };
import policyTestSchema from '../../schema/policy-test.schema.json' with { type: 'json' };
import { gateway, policy, policyLock, policyTest } from '../../schema/validators.js';
import { isObject, ownMember } from '../lib/json/own-member.ts';
import { pointerKey } from '../lib/json/pointer.ts';
import { expectation, isSecret, refusalOf, placeOfKey, type Schema, typeInWords } from './keys.ts';
import type { Path } from './problems.ts';
import { didYouMean, quoted } from '../lib/wording.ts';

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

const validators = { gateway, policy, 'policy-test': policyTest, 'policy-lock': policyLock } as const;

/** All violations of its schema in a document, at most one for each place, in no order. */
export function violations(language: keyof typeof schemas, document: unknown): Violation[] {
  const validate = validators[language];
  if (validate(document)) return [];
  const errors = withoutMisspelled(withoutNoise(validate.errors ?? []));
  const found = new Map<string, Violation>();
  for (const error of errors) {
    const violation = inWords(error, pathOf(error.instancePath, document));
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

function inWords(error: ErrorObject, path: Path): Violation {
  const { keyword, params, data, parentSchema } = error as ErrorObject<string, Record<string, unknown>> & {
    readonly parentSchema?: Schema & { readonly propertyNames?: Schema };
  };
  // The title of the whole is the language's name.
  const expected = path.length === 0 ? typeInWords(parentSchema ?? {}) : expectation(parentSchema ?? {});
  switch (keyword) {
    case 'additionalProperties': {
      const key = String(params['additionalProperty']);
      return { path: [...path, key], part: 'key', message: unknownKey(key, parentSchema?.['properties'] ?? {}, path) };
    }
    case 'required':
      return { path, part: 'missing', message: `missing key: ${String(params['missingProperty'])}` };
    case 'propertyNames': {
      const key = String(params['propertyName']);
      const rule = expectation(parentSchema?.propertyNames ?? {});
      return { path: [...path, key], part: 'key', message: key === '' ? 'an empty key' : `the key is not ${rule}` };
    }
    case 'minItems':
    case 'minLength':
    case 'minProperties':
      return { path, part: 'value', message: 'must not be empty' };
    case 'uniqueItems':
      return {
        path: [...path, Math.max(Number(params['i']), Number(params['j']))],
        part: 'value',
        message: 'is listed twice',
      };
    case 'pattern':
    case 'enum':
    case 'anyOf':
      if (typeof data === 'string')
        return { path, part: 'value', message: `${quotedAt(path, data)} ${refusalOf(parentSchema ?? {}, expected)}` };
      break;
    default:
  }
  const remedy = remedyFor(data, String(parentSchema?.['type']));
  return { path, part: 'value', message: `expected ${expected}, found ${kindOf(data, path)}${remedy}` };
}

/** What to write instead of a value of another kind. */
function remedyFor(found: unknown, wanted: string): string {
  if (wanted === 'object' && Array.isArray(found)) return '; write its entries as keys, without "- "';
  if (wanted === 'object' && (found === null || found === true || found === 'allow')) {
    return '; write {} for an empty one';
  }
  if (wanted === 'array' && typeof found === 'string') return '; put it in [ ]';
  return wanted === 'array' && isObject(found) ? '; begin each entry with "- "' : '';
}

/** What other languages call a key. */
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

function unknownKey(key: string, properties: object, path: Path): string {
  const accepted = Object.keys(properties);
  const synonym = Object.hasOwn(synonyms, key) ? synonyms[key] : undefined;
  const near = synonym !== undefined && accepted.includes(synonym) ? synonym : didYouMean(key, accepted);
  // Deeper down, a common word such as `key` would be looked for far away.
  const place = near === undefined && path.length <= 2 ? placeOfKey(key) : undefined;
  const hint = near === undefined ? place && ` (it is a key of ${place} in gateway.yaml)` : ` (did you mean ${near}?)`;
  return `unknown key${hint ?? ''}; accepted: ${accepted.join(', ')}`;
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
