import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { everyKey } from './every-key.ts';
import { base, refusals } from './folder.ts';
import { runs } from '../../support/runs.ts';

/** The texts of two good files, cut, doubled and with something in between. */
const mangled = fc
  .tuple(
    fc.constantFrom(base, stringify(everyKey)),
    fc.nat(),
    fc.nat(),
    fc.oneof(fc.string(), fc.constantFrom('\n', ': ', '{', '}', '[', '- ', '&a ', '*a', '!!map ', '"', '${env:', '\t')),
  )
  .map(([text, from, to, between]) => text.slice(0, from % text.length) + between + text.slice(to % text.length));

const garbage = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.jsonValue().map((value) => stringify(value)),
  fc.jsonValue().map((value) => stringify({ ...(everyKey as object), authorization_servers: value })),
  fc.jsonValue().map((value) => stringify({ ...(everyKey as object), routes: [value] })),
  mangled,
);

/** `refusals` rethrows whatever is not a ConfigError. */
describe('the loader throws nothing but ConfigError', () => {
  test('for any gateway.yaml', async () => {
    await fc.assert(
      fc.asyncProperty(garbage, async (yaml) => {
        for (const line of await refusals({ yaml })) expect(line).toMatch(/^gateway\.yaml(?::\d+:\d+)?: .+$/u);
      }),
      { numRuns: runs },
    );
  });

  test('for any policy', async () => {
    await fc.assert(
      fc.asyncProperty(garbage, async (policy) => {
        for (const line of await refusals({ yaml: base, files: { 'policies/x.yaml': policy } })) {
          expect(line).toMatch(/^policies\/x\.yaml(?::\d+:\d+)?: .+$/u);
        }
      }),
      { numRuns: runs / 3 },
    );
  });

  test('for any bytes', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array(), async (bytes) => {
        expect(await refusals({ yaml: Buffer.from(bytes) })).not.toEqual([]);
      }),
      { numRuns: runs / 3 },
    );
  });
});
