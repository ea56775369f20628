/**
 * The keys of policies. Those of gateway.yaml, with their defaults, are pinned by `docs/configuration.md`, which
 * `test/docs.test.ts` compares with the schema.
 *
 * @module
 */

import { expect, test } from 'vitest';
import policy from '../../schema/policy.schema.json' with { type: 'json' };
import { keysOf, type Schema } from './keys-of.ts';

test('the keys of a policy', () => {
  expect(keysOf(policy as Schema, 1).join(' ')).toBe(
    'scope claims actors any all not acr max_age max_lifetime because mode tools resources prompts methods requests lists lock calls',
  );
});

test.for([
  [
    'an entry of tools and of prompts',
    'call',
    'scope claims actors any all not acr max_age max_lifetime because arguments inner after never_after quota approval',
  ],
  [
    'an entry of resources, of methods and of requests',
    'listed',
    'scope claims actors any all not acr max_age max_lifetime because after never_after quota approval',
  ],
  ['`after`', 'after', 'tool request within! same by'],
  ['`never_after`', 'never_after', 'tool request within! same by'],
  ['`inner`', 'inner', 'each name! arguments'],
  ['a quota', 'limit', 'count sum at_most integer per! by'],
  [
    'the predicates of a claim',
    'value',
    'claim caller equals one_of contains below at_most above at_least within matches present not integer',
  ],
])('the keys of %s', ([, name, keys]) => {
  const { $defs } = policy as Schema;
  expect(keysOf({ $ref: `#/$defs/${name}`, ...($defs !== undefined && { $defs }) }, 1).join(' ')).toBe(keys);
});
