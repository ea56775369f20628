/**
 * Runs around every test file: nothing that a gateway printed in it may contain a secret that was used in it, and the keys
 * of its issuers serve the next file. The imported modules are loaded once for all files of a worker, this one for each.
 *
 * @module
 */

import { afterAll } from 'vitest';
import { giveBackKeys } from './issuer.ts';
import { disclosures, forgetPrints, forgetSecrets } from './secrecy.ts';
import './watched-answers.ts';

afterAll(() => {
  const found = disclosures();
  forgetPrints();
  forgetSecrets();
  giveBackKeys();
  if (found.length > 0) throw new Error(`secrets were printed in ${found.join('\n')}`);
});
