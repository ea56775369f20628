import { Ajv2020 } from 'ajv/dist/2020.js';
import * as fc from 'fast-check';
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { inspect } from 'node:util';
import { parse, stringify } from 'yaml';
import { annotations, validatorsModule, validatorsTypes } from '../../../schema/compile.ts';
import { composedSchema } from '../../../schema/compose.ts';
import schema from '../../../schema/gateway.schema.json' with { type: 'json' };
import { parsers } from '../../../src/core/config/forms.ts';
import { ConfigError, pathText } from '../../../src/core/config/problems.ts';
import { violations } from '../../../src/core/config/violations.ts';
import type { Config } from '../../../src/ports/config.ts';
import { runs } from '../../support/runs.ts';
import { base, loaded, refusals } from '../../serve/config/folder.ts';
import { at, everyKey, places, replaced } from '../../serve/config/every-key.ts';

/** As an editor would: the committed file and the unresolved text. */
const editorAccepts = new Ajv2020({ strictTypes: false, keywords: annotations }).compile(schema);

/** Every schema in the schema. */
function* subschemas(value: unknown, path = ''): Generator<[path: string, schema: Readonly<Record<string, unknown>>]> {
  if (typeof value !== 'object' || value === null) return;
  if ('type' in value || 'properties' in value) yield [path, value];
  for (const [key, inner] of Object.entries(value)) yield* subschemas(inner, `${path}/${key}`);
}

test('what is made of the schemas is up to date (npm run schemas)', () => {
  for (const language of ['gateway', 'policy'] as const)
    expect(readFileSync(`schema/${language}.schema.json`, 'utf8')).toBe(composedSchema(language));
  expect(readFileSync('schema/validators.js', 'utf8')).toBe(validatorsModule());
  expect(readFileSync('schema/validators.d.ts', 'utf8')).toBe(validatorsTypes());
});

test('x-routes takes no word that no reader knows', () => {
  const ajv = new Ajv2020({ strictTypes: false, keywords: annotations });
  const compile = () => ajv.compile({ properties: { a: { 'x-routes': 'private' } } });
  expect(compile).toThrow(
    'x-routes is "private", which is neither "protected" nor "mcp" nor "http" (#/properties/a/x-routes)',
  );
});

test('x-form takes no word that no parser has', () => {
  const ajv = new Ajv2020({ strictTypes: false, keywords: annotations });
  const compile = () => ajv.compile({ properties: { a: { 'x-form': 'toString' } } });
  expect(compile).toThrow('x-form is "toString", which no table of forms.ts has (#/properties/a/x-form)');
});

describe('the committed schema', () => {
  test('has a key for each parser of forms.ts', () => {
    const used = new Set([...JSON.stringify(schema).matchAll(/"x-form":"(\w+)"/g)].map(([, form]) => form));
    // These are the forms of a type.
    const named = Object.keys(parsers).filter((form) => form !== 'text' && form !== 'choice');
    expect(named.filter((form) => !used.has(form))).toEqual([]);
  });

  test('accepts no unknown key in any mapping', () => {
    const open = [...subschemas(schema)].filter(
      ([path, { type, additionalProperties }]) =>
        type === 'object' && !path.endsWith('/properties') && additionalProperties === undefined,
    );
    expect(open.map(([path]) => path)).toEqual([]);
  });

  test('describes every key, for editors', () => {
    const silent: string[] = [];
    for (const [path, { properties }] of subschemas(schema)) {
      if (typeof properties !== 'object' || properties === null || 'type' in properties) continue;
      for (const [key, property] of Object.entries(properties as Record<string, Record<string, string>>)) {
        const referred = schema.$defs[property['$ref']?.replace('#/$defs/', '') as keyof typeof schema.$defs] as
          | object
          | undefined;
        if (property['description'] === undefined && !(referred !== undefined && 'description' in referred))
          silent.push(`${path}/${key}`);
      }
    }
    expect(silent).toEqual([]);
  });

  test('accepts our own gateway.yaml with its placeholders', () => {
    expect(editorAccepts(parse(readFileSync('gateway.yaml', 'utf8')))).toBe(true);
  });
});

describe('the schema and the loader agree', () => {
  test('on a configuration that has every key', async () => {
    expect(editorAccepts(everyKey)).toBe(true);
    expect(await refusals({ yaml: stringify(everyKey), env: { SECRET: 'x' } })).toEqual([]);
  });

  const everyPlace = places(everyKey).map((path) => [pathText(path), path] as const);
  // One and a half, a mapping of this and a list of lists are nowhere expected; nor is nothing.
  const wrong = [1.5, { no: 1 }, [[]], null];

  /** The claims of a client have values of their own: any number too, and under any name. */
  const isOfClaims = (title: string): boolean => title.startsWith('front_door.clients.registered.report.claims');

  test.each(everyPlace)('that %s refuses a value of another type', (title, path) => {
    const values = isOfClaims(title) ? wrong.slice(2) : wrong;
    for (const document of values.map((value) => replaced(everyKey, path, value))) {
      expect(editorAccepts(document)).toBe(false);
      // The loader refuses each violation.
      expect(violations('gateway', document)).not.toEqual([]);
    }
  });

  const mappings = new Set(
    places(everyKey).flatMap((path) => (typeof path.at(-1) === 'string' ? [pathText(path.slice(0, -1))] : [])),
  );
  /** The values of a claim are its keys. */
  const takesAnyKey = (title: string): boolean => title.endsWith('.values');
  test.each([['', []] as const, ...everyPlace].filter(([title]) => mappings.has(title) && !takesAnyKey(title)))(
    'on an unknown key in %s',
    (_title, path) => {
      const document = replaced(everyKey, [...path, 'no such key'], 'x');
      expect(editorAccepts(document)).toBe(false);
      const found = violations('gateway', document);
      expect(found).not.toEqual([]);
      // A mapping of names accepts any key of its form.
      const accepted = found.flatMap(({ message }) => /unknown key.*; accepted: (.*)$/.exec(message)?.[1] ?? []);
      const keys = Object.keys(at(everyKey, path) as object);
      for (const listed of accepted) expect(listed.split(', ')).toEqual(expect.arrayContaining(keys));
    },
  );

  /** Keys whose value in {@link everyKey} is what the gateway takes without them. */
  const defaults = new Set([
    'policies',
    'approvals.audience',
    'front_door.workloads.cluster.audience',
    'routes[0].protocol',
    'routes[0].authorization_servers',
    'routes[0].opaque_tokens',
    'routes[0].public',
    'routes[0].upstream.exchange.grant',
    'routes[0].upstream.exchange.server',
    'routes[0].upstream.exchange.subject_token_type',
    'routes[1].query',
  ]);

  /** All that a configuration says, but its hash and the lines of its warnings. Each load makes new functions. */
  const shown = (config: Config): string => {
    const warnings = config.warnings.map((warning) => warning.replace(/:\d+:\d+:/, ':'));
    return inspect({ ...config, warnings, hash: '' }, { depth: Infinity, maxArrayLength: null });
  };
  const whole = loaded({ yaml: stringify(everyKey) });
  test('a configuration that is read twice says the same', async () => {
    expect(shown(await loaded({ yaml: stringify(everyKey) }))).toBe(shown(await whole));
  });

  test.each(everyPlace.filter(([title, path]) => typeof path.at(-1) === 'string' && !defaults.has(title)))(
    'that %s is read: without it, the configuration differs or is refused',
    async (_title, path) => {
      const yaml = stringify(replaced(everyKey, path, undefined));
      const after = await loaded({ yaml }).catch((error: unknown) => {
        if (error instanceof ConfigError) return undefined;
        throw error;
      });
      if (after === undefined) return;
      expect(shown(after)).not.toBe(shown(await whole));
    },
  );

  test.each(everyPlace.filter(([, path]) => typeof at(everyKey, path) === 'string'))(
    'that a placeholder may stand for %s',
    (_title, path) => {
      const placeholders = ['${env:X}', '${file:/run/secrets/x}', '${env:X:-y z}', 'a${env:X}b${env:Y}'];
      const documents = placeholders.map((placeholder) => replaced(everyKey, path, placeholder));
      expect(documents.filter((document) => !editorAccepts(document))).toEqual([]);
    },
  );

  test('R-157: on any value in any place: the schema accepts what the loader accepts', async () => {
    const words =
      'mcp http none forward main off 0s 1h 1KiB / /x http://x https://x/y jwt 127.0.0.1:1 RS256 GET ${env:SECRET}';
    const value = fc.oneof(
      fc.constantFrom('', 'a b', true, false, [], {}, ...words.split(' ')),
      fc.jsonValue({ maxDepth: 1 }),
    );
    const property = fc.asyncProperty(fc.constantFrom(...places(everyKey)), value, async (path, value) => {
      const document = replaced(everyKey, path, value);
      const lines = await refusals({ yaml: stringify(document), env: { SECRET: 'http' } });
      return lines.length > 0 || editorAccepts(document);
    });
    expect((await fc.check(property, { numRuns: runs / 6 })).counterexample).toBeNull();
  });

  test('on the base configuration of the other tests', () => {
    expect(editorAccepts(parse(base))).toBe(true);
  });
});
