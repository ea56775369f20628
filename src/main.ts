#!/usr/bin/env node
import { runCommand } from './cli/run-command.ts';

// `sallyport schema | head` closes the pipe: an end like any other, not a stack.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(1);
  throw error;
});

process.exitCode = await runCommand(process.argv.slice(2));
