import { importsOf, type SourceFile } from './source-files.ts';

/** The layers of `src/`, lowest first: a folder or file imports from lower layers and from itself, nothing else. */
export const layers: readonly (readonly string[])[] = [
  ['lib'],
  ['json', 'http'],
  ['model'],
  ['policy', 'mcp', 'authorization-server'],
  ['prove'],
  ['compare'],
  // The stages, and what stands beside them.
  [
    'listen',
    'route',
    'authenticate',
    'limit',
    'authorize',
    'history',
    'exchange',
    'forward',
    'respond',
    'lock',
    'shared',
    'config',
    'telemetry',
    'mcp-client',
  ],
  ['pipeline.ts'],
  ['gateway', 'review'],
  ['console'],
  ['admin', 'front-door'],
  ['serve'],
  // What commands do beside serving.
  ['init', 'doctor'],
  ['cli'],
  ['main.ts'],
];

/** What a part may import although, or only although, its layer says something else. */
const knowsOnly: Readonly<Record<string, readonly string[]>> = { 'pipeline.ts': ['model'] };

/** What of the repository outside `src/` a part may import. */
const outside: Readonly<Record<string, RegExp>> = { config: /^schema\//, cli: /^(?:schema\/|package\.json$)/ };

/** Each package that `src/` uses, with the folders that own it. */
export const owners: Readonly<Record<string, readonly string[]>> = {
  '@eslint-community/regexpp': ['config', 'prove'],
  '@modelcontextprotocol/client': ['mcp-client'],
  '@opentelemetry/api': ['telemetry'],
  '@opentelemetry/exporter-trace-otlp-proto': ['telemetry'],
  '@opentelemetry/resources': ['telemetry'],
  '@opentelemetry/sdk-trace': ['telemetry'],
  '@redis/client': ['shared'],
  canonicalize: ['mcp'],
  'http-proxy-3': ['forward'],
  'oidc-provider': ['front-door'],
  'openid-client': ['front-door'],
  undici: ['forward'],
  jose: ['authenticate', 'authorization-server', 'exchange', 'front-door'],
  'lru-cache': ['lib'],
  refa: ['config', 'prove'],
  yaml: ['config', 'policy'],
  ajv: ['config', 'policy'],
  'prom-client': ['telemetry'],
};

/** Pure: of Node only what computes, so that they decide alike everywhere and at all times. */
const pure: ReadonlySet<string> = new Set(['json', 'policy', 'mcp']);

/** The folder of `src/` that a file is in, or its name when it is in none. */
function partOf(path: string): string {
  return path.split('/')[1] ?? '';
}

function layerOf(part: string): number {
  return layers.findIndex((layer) => layer.includes(part));
}

/** Imports that go up, aside, or to where a part must know nothing. */
export function wrongDirections(files: readonly SourceFile[]): readonly string[] {
  return files.flatMap((file) => {
    const from = partOf(file.path);
    if (layerOf(from) === -1) return [`${file.path}: ${from} has no place among the layers`];
    return importsOf(file)
      .filter(({ isOurs, target }) => isOurs && !mayImport(from, target))
      .map(({ target }) => `${file.path} imports ${target}`);
  });
}

function mayImport(from: string, target: string): boolean {
  if (!target.startsWith('src/')) return outside[from]?.test(target) === true;
  const to = partOf(target);
  if (to === from) return true;
  if (knowsOnly[from] !== undefined) return knowsOnly[from].includes(to);
  return layerOf(to) !== -1 && layerOf(to) < layerOf(from);
}

/** Packages outside the folder that owns them, or that no folder owns. */
export function foreignPackages(files: readonly SourceFile[]): readonly string[] {
  return files.flatMap((file) =>
    importsOf(file)
      .filter(({ isOurs, target }) => !isOurs && !mayUse(partOf(file.path), target))
      .map(({ target }) => `${file.path} imports ${target}`),
  );
}

function mayUse(part: string, target: string): boolean {
  if (target.startsWith('node:')) return target === 'node:crypto' || !pure.has(part);
  return owners[target]?.includes(part) === true;
}

/** Groups of files that import each other in a circle, each as the way around. */
export function cycles(files: readonly SourceFile[]): readonly string[] {
  const edges = new Map(files.map((file) => [file.path, importsOf(file).map(({ target }) => target)]));
  const done = new Set<string>();
  const found: string[] = [];
  const visit = (path: string, way: readonly string[]): void => {
    if (way.includes(path)) found.push([...way.slice(way.indexOf(path)), path].join(' → '));
    if (done.has(path) || way.includes(path)) return;
    for (const target of edges.get(path) ?? []) visit(target, [...way, path]);
    done.add(path);
  };
  for (const path of edges.keys()) visit(path, []);
  return found;
}

/** Imports of our own files without the extension that Node needs to run the sources as they are. */
export function withoutExtension(files: readonly SourceFile[]): readonly string[] {
  return files.flatMap((file) =>
    importsOf(file)
      .filter(({ isOurs, specifier }) => isOurs && !/\.(?:ts|json)$|\/schema\/validators\.js$/.test(specifier))
      .map(({ specifier }) => `${file.path} imports ${specifier}`),
  );
}

/** Files that export something without a name. */
export function defaultExports(files: readonly SourceFile[]): readonly string[] {
  return files.filter(({ text }) => /^export (?:default\b|\{[^}]*\bas default\b)/m.test(text)).map(({ path }) => path);
}

/** Pure files that ask for the time, chance or the network themselves, instead of taking them as arguments. */
export function impurities(files: readonly SourceFile[]): readonly string[] {
  const asks = /\b(?:random(?:Bytes|Int|UUID)|Math\.random|Date\.now|performance\.now|fetch)\b/;
  return files.filter(({ path, text }) => pure.has(partOf(path)) && asks.test(text)).map(({ path }) => path);
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
