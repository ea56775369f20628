import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { targetsOf } from '../../src/mcp/targets.ts';
import { Denial } from '../../src/model/denial.ts';
import { runs } from '../support/runs.ts';

const method = fc.constantFrom(
  'tools/call',
  'prompts/get',
  'resources/read',
  'resources/subscribe',
  'completion/complete',
  'subscriptions/listen',
  'tools/list',
  '__proto__',
);
const anything = fc.jsonValue({ maxDepth: 2 });
const params = fc.record(
  {
    name: fc.oneof(fc.string(), anything),
    uri: fc.oneof(fc.string(), anything),
    ref: fc.oneof(
      fc.record({ type: fc.constantFrom('ref/prompt', 'ref/resource'), name: fc.string(), uri: fc.string() }),
      anything,
    ),
    notifications: fc.oneof(fc.record({ resourceSubscriptions: fc.array(fc.string()) }), anything),
  },
  { requiredKeys: [] },
);

/** The names, or the reason of the Denial. */
function read(called: string, given: Readonly<Record<string, unknown>>): readonly string[] | string {
  try {
    return targetsOf(called, given, 1).map(({ name }) => name);
  } catch (error) {
    if (error instanceof Denial && error.messageId === 1) return error.reason;
    throw error;
  }
}

test('for any parameters: what they name and nothing else, or a Denial', () => {
  fc.assert(
    fc.property(method, params, (called, given) => {
      const found = read(called, given);
      const one = /^(?:tools\/call|prompts\/get)$/.test(called)
        ? 'name'
        : called.startsWith('resources/')
          ? 'uri'
          : undefined;
      const isSound =
        typeof found === 'string'
          ? /^body\.(?:message|ambiguous)$/.test(found)
          : (one === undefined || (found.length === 1 && found[0] === given[one])) &&
            found.every((each) => JSON.stringify(given).includes(JSON.stringify(each)));
      expect(isSound).toBe(true);
    }),
    { numRuns: runs },
  );
});
