#!/usr/bin/env node
import { enableCompileCache } from 'node:module';
import { fileURLToPath } from 'node:url';

// The cache is beside the packages: a user who can write there can change the program anyway. In the default folder,
// below the system's temporary one, any user of the machine could plant code. A read-only cache is used as it is.
enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/sallyport/', import.meta.url)));

// `sallyport schema | head` closes the pipe, which is no failure to print a stack for.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(1);
  throw error;
});

const { runCommand } = await import('./cli/run-command.ts');
process.exitCode = await runCommand(process.argv.slice(2));
