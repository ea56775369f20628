import { dirname } from 'node:path/posix';
import { importsOf, type SourceFile } from './source-files.ts';

/**
 * The floors of `src/`, lowest first: a room imports from lower floors and from itself, nothing else. A capability is a
 * room of its own.
 */
export const layers: readonly (readonly string[])[] = [
  ['core/lib'],
  ['core/model'],
  ['ports'],
  ['core/policy', 'core/config', 'core/telemetry'],
  ['core/gateway'],
  ['policy-parts'],
  ['tokens', 'mcp', 'policy-files'],
  ['analysis'],
  ['capabilities', 'front-door'],
  ['capabilities/all.ts'],
  ['serve'],
  ['commands'],
  ['main.ts'],
];

/** What rooms of one floor may import of lower ones, where that is not everything. */
const fewer: Readonly<Record<string, readonly string[]>> = {
  'front-door': ['core/lib', 'core/model', 'ports', 'core/telemetry', 'core/config', 'tokens'],
  'policy-parts': ['core/lib', 'core/model', 'core/policy'],
  analysis: ['core/lib', 'core/model', 'ports', 'core/policy', 'policy-parts', 'policy-files'],
};

/** Rooms that nothing but these may import. The console tries drafts in a process of its own. */
const closed: Readonly<Record<string, readonly string[]>> = {
  analysis: ['commands', 'capabilities/console'],
  'front-door': ['serve', 'commands'],
};

/** The interface of capabilities, and what their commands are made of: below them. */
function isKit(path: string): boolean {
  return /^src\/capabilities\/[\w-]+\.ts$/.test(path) && path !== 'src/capabilities/all.ts';
}

/** The order of the stages. It knows their types, and none of their code. */
const PATH_OF_A_REQUEST = 'src/core/gateway/pipeline.ts';

/** What of the repository outside `src/` a part may import. */
const outside: Readonly<Record<string, RegExp>> = {
  'core/config': /^schema\//,
  'core/policy': /^schema\/validators\.js$/,
  'policy-parts': /^schema\/validators\.js$/,
  capabilities: /^schema\//,
  serve: /^schema\//,
  commands: /^(?:schema\/|package\.json$)/,
};

/** Each package that `src/` uses, with the folders that own it. */
export const owners: Readonly<Record<string, readonly string[]>> = {
  '@eslint-community/regexpp': ['policy-files', 'analysis/prove'],
  '@modelcontextprotocol/client': ['mcp/client'],
  '@opentelemetry/api': ['capabilities/traces'],
  '@opentelemetry/exporter-trace-otlp-proto': ['capabilities/traces'],
  '@opentelemetry/resources': ['capabilities/traces'],
  '@opentelemetry/sdk-trace': ['capabilities/traces'],
  '@redis/client': ['capabilities/shared-store'],
  'cluster-key-slot': ['capabilities/shared-store'],
  canonicalize: ['mcp'],
  'http-proxy-3': ['capabilities/websockets'],
  'oidc-provider': ['front-door'],
  'openid-client': ['front-door'],
  undici: ['core/gateway/forward'],
  jose: ['tokens', 'capabilities/exchange', 'capabilities/possession', 'capabilities/revocation', 'front-door'],
  'lru-cache': ['core/lib'],
  refa: ['policy-files', 'analysis/prove'],
  yaml: ['core/config', 'core/policy', 'policy-files', 'serve/config', 'capabilities/lock'],
  ajv: ['core/config', 'core/policy', 'serve/config'],
  'prom-client': ['core/telemetry'],
};

/** Pure: of Node only what computes, so that they decide alike everywhere and at all times. */
const pure: readonly string[] = [
  'core/lib/json',
  'core/policy',
  'policy-parts',
  'analysis/prove',
  'analysis/compare',
  'mcp',
];
/** Folders of pure rooms that call servers or watch them. */
const impure: readonly string[] = ['mcp/client'];

/** The room of `src/` that a file is in, or its name when it is in none. */
function partOf(path: string): string {
  const [, room = '', inner = ''] = path.split('/');
  if (isKit(path)) return 'core/gateway';
  return room === 'core' || (room === 'capabilities' && inner.endsWith('.ts')) ? `${room}/${inner}` : room;
}

/** The room, or the one capability, that a file is in. */
function roomOf(path: string): string {
  const part = partOf(path);
  return part === 'capabilities' ? path.split('/').slice(1, 3).join('/') : part;
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

/** Imports that go up, aside, from one stage to another, from a stage to the policy language, or into a capability. */
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
  if (!target.startsWith('src/')) return outside[isKit(path) ? 'capabilities' : from]?.test(target) === true;
  const to = partOf(target);
  if (path === PATH_OF_A_REQUEST) return to === 'core/model';
  if (to === 'ports' && path.startsWith('src/core/')) return false;
  if (from === 'core/gateway' && to === 'core/gateway') return dirname(path) === dirname(target) || isKit(path);
  if (from === 'core/gateway' && to === 'core/policy') return false;
  if (roomOf(path) === roomOf(target)) return true;
  if (to === 'capabilities') return from === 'capabilities/all.ts';
  if (closed[to]?.includes(roomOf(path)) === false || fewer[from]?.includes(to) === false) return false;
  return layerOf(to) !== -1 && layerOf(to) < layerOf(from);
}

/** What opens requests: those of the process itself, in one file, and those to servers that no proxy leads to. */
const opensRequests = new Set([
  'src/ports/own-requests.ts',
  // The proxy itself.
  'src/capabilities/egress/proxies.ts',
  // Upstreams, and the admin listener.
  'src/mcp/client/ask-server.ts',
  'src/commands/operator.ts',
]);

/** The lines that open a request past `own-requests.ts`. */
export function otherRequests(files: readonly SourceFile[]): readonly string[] {
  const opens = /(?<![.#\w])fetch\(|\bhttps?\.request\(|\brequest\b.* from 'node:https?'/;
  return files
    .filter(({ path }) => !opensRequests.has(path))
    .flatMap(({ path, text }) => text.split('\n').map((line) => ({ path, line: line.trim() })))
    .filter(({ line }) => !line.startsWith('*') && opens.test(line))
    .map(({ path, line }) => `${path}: ${line}`);
}

/** How many imports lead from each room to each other one that it may not import, as `A → B`. */
export function wrongArrows(files: readonly SourceFile[]): Readonly<Record<string, number>> {
  const arrows = files.flatMap((file) =>
    importsOf(file)
      .filter(({ isOurs, target }) => isOurs && !mayImport(file.path, target))
      .map(({ target }) => `${roomOf(file.path)} → ${roomOf(target)}`),
  );
  return Object.fromEntries(
    Object.entries(Object.groupBy(arrows, (arrow) => arrow))
      .map(([arrow, all = []]) => [arrow, all.length] as const)
      .toSorted(([one], [other]) => (one < other ? -1 : 1)),
  );
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
