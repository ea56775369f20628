import type { CallFrame } from '../machine/profiler.ts';

/** V8's names for time outside JavaScript. */
const outside: Readonly<Record<string, string>> = {
  '(program)': 'outside JavaScript: the kernel, parsing, the event loop',
  '(garbage collector)': 'garbage collector',
};

/** The stage that a function belongs to: a folder of `src/`, a package, Node, or a part of the engine. */
export function stageOf({ url, functionName }: CallFrame): string {
  const library = /\/node_modules\/((?:@[^/]+\/)?[^/]+)\/(?!.*\/node_modules\/)/.exec(url)?.[1];
  if (library !== undefined) return library;
  const own = /\/src\/(.+)\/[^/]+$/.exec(url)?.[1];
  if (own !== undefined) return `src/${own}`;
  if (url.includes('/bench/servers/')) return 'the code of the floor';
  if (url !== '') return 'Node';
  if (/^write(v|\w*Buffer|\w+String)$/.test(functionName)) return 'writes to sockets';
  return outside[functionName] ?? 'built-in functions';
}

/** The function, its file and its line. */
export function functionOf({ url, functionName, lineNumber }: CallFrame): string {
  const file = url.replace(/^.*\/(?=src\/|node_modules\/|bench\/)/, '');
  return `${functionName || '(anonymous)'} ${file}:${lineNumber + 1}`;
}
