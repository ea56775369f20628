#!/usr/bin/env node
// The command, in words that an old Node understands too: the program itself would only show it a stack.
const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 22 || (major === 22 && minor < 19)) {
  process.stderr.write(
    `sallyport: needs Node 22.19 or newer; this is ${process.versions.node} (${process.execPath})\n`,
  );
  process.exitCode = 1;
} else {
  const { enableCompileCache } = await import('node:module');
  const { existsSync } = await import('node:fs');
  const { fileURLToPath } = await import('node:url');
  // As src/main.ts does, which is then in the cache itself: to strip its types alone, Node would load its compiler.
  enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/sallyport/', import.meta.url)));
  // A checkout runs its sources; the package what was built of them, since Node strips no types in node_modules.
  const sources = new URL('../src/main.ts', import.meta.url);
  await import(existsSync(sources) ? sources.href : new URL('../dist/main.js', import.meta.url).href);
}
