#!/usr/bin/env node
import { enableCompileCache } from 'node:module';
import { fileURLToPath } from 'node:url';

// Beside the packages, so that whoever can write there could change the program itself: in the default, below /tmp, any
// user of the machine could leave code for us to run. Where it cannot be written, what is there is used.
enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/sallyport/', import.meta.url)));

// `sallyport schema | head` closes the pipe: an end like any other, not a stack.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(1);
  throw error;
});

const { runCommand } = await import('./cli/run-command.ts');
process.exitCode = await runCommand(process.argv.slice(2));
