#!/usr/bin/env node
// The command, in words that an old Node understands too: the program itself would only show it a stack.
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

// A checkout runs its sources; the package what was built of them, since Node strips no types in node_modules.
const sources = new URL('../src/main.ts', import.meta.url);
const isCheckout = existsSync(sources);
const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 22 || (major === 22 && minor < 19)) {
  const hint = isCheckout ? '; here, `npx sallyport` runs the newer one that `npm ci` installed' : '';
  process.stderr.write(
    `sallyport: needs Node 22.19 or newer; this is ${process.versions.node} (${process.execPath})${hint}\n`,
  );
  process.exitCode = 1;
} else {
  const { enableCompileCache } = await import('node:module');
  // As src/main.ts does, which is then in the cache itself: to strip its types alone, Node would load its compiler.
  enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/sallyport/', import.meta.url)));
  await import(isCheckout ? sources.href : new URL('../dist/main.js', import.meta.url).href);
}
