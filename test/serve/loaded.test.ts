import { stripTypeScriptTypes } from 'node:module';
import { expect, test } from 'vitest';
import { filesIn, importsOf } from '../architecture/source-files.ts';

// What is imported at the top, when the types are gone.
const statics = new Map(
  [...filesIn('src', /\.ts$/), ...filesIn('schema', /\.js$/)].map(({ path, text }) => {
    const values = stripTypeScriptTypes(text).replaceAll(/\bimport\s*\([^)]*\)/g, '');
    return [path, importsOf({ path, text: values })];
  }),
);

/** Everything that is loaded, with what loads it, as soon as `path` is. */
function loadedBy(path: string, loaded = new Map<string, string>()): Map<string, string> {
  for (const { target, specifier, isOurs } of statics.get(path) ?? []) {
    const name = isOurs ? target : specifier;
    if (loaded.has(name)) continue;
    loaded.set(name, path);
    loadedBy(name, loaded);
  }
  return loaded;
}

test('a start loads what every gateway needs, and no more of it', () => {
  const packages = [...loadedBy('src/cli/serve.ts').keys()].filter((name) => !/^(?:src|schema)\/|^node:/.test(name));
  expect([...loadedBy('src/cli/serve.ts').keys()].filter((name) => name.startsWith('src/front-door/'))).toEqual([]);
  expect(packages.toSorted()).toEqual([
    'ajv/dist/runtime/equal.js',
    'ajv/dist/runtime/ucs2length.js',
    'canonicalize',
    'jose/decode/protected_header',
    'jose/errors',
    'jose/jwks/local',
    'jose/jws/compact/verify',
    'jose/jwt/decode',
    'jose/jwt/sign',
    'jose/jwt/verify',
    'jose/key/import',
    'lru-cache',
    'prom-client',
    'undici/lib/core/errors.js',
    'undici/lib/dispatcher/pool.js',
    'yaml',
  ]);
});

test('no file loads the fetch of Node (src/lib/http/node-http.ts)', () => {
  const importing = [...statics].filter(([, imports]) => imports.some(({ target }) => target === 'node:http'));
  expect(importing.map(([path]) => path)).toEqual([]);
});
