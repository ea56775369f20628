import { appendFileSync } from 'node:fs';
import { registerHooks } from 'node:module';

// Writes the URL of each module that a process loads, and those that its child processes load.
registerHooks({
  load(url, context, next) {
    appendFileSync(process.env.LOADED_MODULES, `${url}\n`);
    return next(url, context);
  },
});
