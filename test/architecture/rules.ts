import { dirname } from 'node:path/posix';
import { importsOf, type SourceFile } from './source-files.ts';

/** The floors of `src/`, lowest first: a room imports from lower floors and from itself, nothing else. */
export const layers: readonly (readonly string[])[] = [
  ['lib'],
  ['model'],
  ['policy', 'mcp', 'authorization-server', 'store', 'telemetry'],
  ['config', 'front-door', 'pipeline'],
  ['review'],
  ['admin'],
  ['serve'],
  ['cli'],
  ['main.ts'],
];

/** The order of the stages. It knows their types, and none of their code. */
const PATH_OF_A_REQUEST = 'src/pipeline/pipeline.ts';

/** What of the repository outside `src/` a part may import. */
const outside: Readonly<Record<string, RegExp>> = { config: /^schema\//, cli: /^(?:schema\/|package\.json$)/ };

/** Each package that `src/` uses, with the folders that own it. */
export const owners: Readonly<Record<string, readonly string[]>> = {
  '@eslint-community/regexpp': ['policy/patterns'],
  '@modelcontextprotocol/client': ['mcp/client'],
  '@opentelemetry/api': ['telemetry'],
  '@opentelemetry/exporter-trace-otlp-proto': ['telemetry'],
  '@opentelemetry/resources': ['telemetry'],
  '@opentelemetry/sdk-trace': ['telemetry'],
  '@redis/client': ['store'],
  'cluster-key-slot': ['store'],
  canonicalize: ['mcp'],
  'http-proxy-3': ['pipeline/forward'],
  'oidc-provider': ['front-door'],
  'openid-client': ['front-door'],
  undici: ['pipeline/forward'],
  jose: ['pipeline/authenticate', 'pipeline/exchange', 'authorization-server', 'front-door', 'serve/revocation'],
  'lru-cache': ['lib'],
  refa: ['policy/patterns'],
  yaml: ['config', 'policy'],
  ajv: ['config', 'policy'],
  'prom-client': ['telemetry'],
};

/** Pure: of Node only what computes, so that they decide alike everywhere and at all times. */
const pure: readonly string[] = ['lib/json', 'policy', 'mcp'];
/** Folders of pure rooms that call servers or watch them. */
const impure: readonly string[] = ['mcp/client', 'mcp/lock'];

/** The room of `src/` that a file is in, or its name when it is in none. */
function partOf(path: string): string {
  return path.split('/')[1] ?? '';
}

/** Whether a file is in one of these folders of `src/`. */
function isIn(path: string, folders: readonly string[]): boolean {
  return folders.some((folder) => path.startsWith(`src/${folder}/`));
}

function isPure(path: string): boolean {
  return isIn(path, pure) && !isIn(path, impure);
}

function layerOf(part: string): number {
  return layers.findIndex((layer) => layer.includes(part));
}

/** Imports that go up, aside, from one stage to another, or from a stage to the policy language. */
export function wrongDirections(files: readonly SourceFile[]): readonly string[] {
  return files.flatMap((file) => {
    const from = partOf(file.path);
    if (layerOf(from) === -1) return [`${file.path}: ${from} has no place among the layers`];
    return importsOf(file)
      .filter(({ isOurs, target }) => isOurs && !mayImport(file.path, target))
      .map(({ target }) => `${file.path} imports ${target}`);
  });
}

function mayImport(path: string, target: string): boolean {
  const from = partOf(path);
  if (!target.startsWith('src/')) return outside[from]?.test(target) === true;
  const to = partOf(target);
  if (path === PATH_OF_A_REQUEST) return to === 'model';
  if (from === 'pipeline' && to === 'pipeline') return dirname(path) === dirname(target);
  if (from === 'pipeline' && to === 'policy') return false;
  return to === from || (layerOf(to) !== -1 && layerOf(to) < layerOf(from));
}

/** Packages outside the folder that owns them, or that no folder owns. */
export function foreignPackages(files: readonly SourceFile[]): readonly string[] {
  return files.flatMap((file) =>
    importsOf(file)
      .filter(({ isOurs, target }) => !isOurs && !mayUse(file.path, target))
      .map(({ target }) => `${file.path} imports ${target}`),
  );
}

function mayUse(path: string, target: string): boolean {
  if (target.startsWith('node:')) return ['node:crypto', 'node:util'].includes(target) || !isPure(path);
  return isIn(path, owners[target] ?? []);
}

/** Pure files that ask for the time, chance or the network themselves, instead of taking them as arguments. */
export function impurities(files: readonly SourceFile[]): readonly string[] {
  const asks = /\b(?:random(?:Bytes|Int|UUID)|Math\.random|Date\.now|performance\.now|fetch)\b/;
  return files.filter(({ path, text }) => isPure(path) && asks.test(text)).map(({ path }) => path);
}

/**
 * Tests that keep the log of a gateway themselves, or take its newest decision without saying how many they wait for.
 * The gateway writes lines in batches: such a test reads the log before the line about its own request is there.
 */
export function hastyReaders(files: readonly SourceFile[]): readonly string[] {
  const hasty = /\bnew Writable\([^]*\bstart\(|\.decisions\(\)/;
  return files.filter(({ path, text }) => path !== LOG_READER && hasty.test(text)).map(({ path }) => path);
}

/** Whose readers wait. */
const LOG_READER = 'test/support/written-log.ts';

/** Names of types that more than one file exports, with these files: a reader would take one for the other. */
export function homonyms(files: readonly SourceFile[]): readonly string[] {
  const exported = files.flatMap(({ path, text }) =>
    [...text.matchAll(/^export (?:interface|type|class) (\w+)/gm)].map(([, name = '']) => ({ name, path })),
  );
  return Object.entries(Object.groupBy(exported, ({ name }) => name))
    .filter(([, places = []]) => places.length > 1)
    .map(([name, places = []]) => `${name}: ${places.map(({ path }) => path).join(', ')}`);
}

/** Ways to gather a body that cost an object for each piece: a sender of single bytes would multiply its memory. */
const gathering = [
  /\bBuffer\.concat\(/,
  /[:<] ?(?:readonly )?\(?(?:Buffer|Uint8Array)(?: \| undefined)?\)?(?:\[\]|>)(?: =|\(\))/,
  /'node:stream\/consumers'/,
  /\.(?:arrayBuffer|blob|bytes|toArray|setEncoding)\(/,
  /\(await [^;]+\)\.(?:text|json)\(\)|\bawait \w+\.(?:text|json)\(\)/,
];

/** The lines that may gather a body in another way than by a `Gatherer`, as `path: line`. */
export function gatherersOfBodies(files: readonly SourceFile[]): readonly string[] {
  return files.flatMap(({ path, text }) =>
    text
      .split('\n')
      .filter((line) => gathering.some((form) => form.test(line)))
      .map((line) => `${path}: ${line.trim()}`),
  );
}
