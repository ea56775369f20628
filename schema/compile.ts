/**
 * Writes `validators.js`, what ajv makes of the JSON Schemas: to load ajv and to compile them at start would take more
 * than 20 times as long as to load that.
 *
 *     npm run schemas
 *
 * @module
 */

import { writeFile } from 'node:fs/promises';
import { Ajv2020 } from 'ajv/dist/2020.js';
import standalone from 'ajv/dist/standalone/index.js';
import gateway from './gateway.schema.json' with { type: 'json' };
import policy from './policy.schema.json' with { type: 'json' };
import policyLock from './policy-lock.schema.json' with { type: 'json' };
import policyTest from './policy-test.schema.json' with { type: 'json' };

const intro = '// What ajv makes of the schemas beside it; `npm run schemas` writes it anew.\n';

/** The module as it should be. It exports a function for each schema. */
export function validatorsModule(): string {
  const ajv = new Ajv2020({
    schemas: { gateway, 'policy.schema.json': policy, policyLock, policyTest },
    allErrors: true,
    // Puts the value and the schema that refused it into each error.
    verbose: true,
    strictTypes: false,
    code: { source: true, esm: true, lines: true },
  });
  // ajv requires its own parts even in an ES module: https://github.com/ajv-validator/ajv/issues/2209
  const required = /^const (\w+) = require\("(ajv\/dist\/runtime\/\w+)"\)\.default;$/gm;
  const code = standalone.default(ajv, {
    gateway: 'gateway',
    policy: 'policy.schema.json',
    policyLock: 'policyLock',
    policyTest: 'policyTest',
  });
  return `${intro}${code.replaceAll(required, "import $1Module from '$2.js';\nconst $1 = $1Module.default;")}\n`;
}

if (import.meta.main) await writeFile(new URL('validators.js', import.meta.url), validatorsModule());
