#!/usr/bin/env node
import { enableCompileCache } from 'node:module';
import { fileURLToPath } from 'node:url';

// Node would keep the cache in the system's temporary folder, where any user of the machine could plant code. Write
// access to this folder, beside the packages, already allows changing the program. A cache may be read-only.
enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/sallyport/', import.meta.url)));

// `sallyport schema | head` closes the pipe, which is no failure to print a stack for.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(1);
  throw error;
});

const { runCommand } = await import('./commands/run-command.ts');
process.exitCode = await runCommand(process.argv.slice(2));
