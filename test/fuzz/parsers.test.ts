import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { caseOf, changedCase, findingLine, lineOf, readCorpus } from './cases.ts';
import { config } from './parsers/config.ts';
import { credentials } from './parsers/credentials.ts';
import { events } from './parsers/events.ts';
import { fields } from './parsers/fields.ts';
import { json } from './parsers/json.ts';
import { message } from './parsers/message.ts';
import { path } from './parsers/path.ts';
import { policy } from './parsers/policy.ts';
import { properties } from './parsers/properties.ts';
import { tokens } from './parsers/tokens.ts';
import { values } from './parsers/values.ts';

const readers = { config, credentials, events, fields, json, message, path, policy, properties, tokens, values };
/** `properties` proves something in each case. */
const cases = (name: string): number => Number(process.env['FUZZ_CASES'] ?? (name === 'properties' ? 20 : 300));

describe.each(Object.entries(readers))('any bytes pass the checks of %s', (name, reader) => {
  const corpus = readCorpus(name);

  test.each([...corpus])('the case %s of the corpus', async (_, input) => {
    await expect(Promise.resolve(input).then((bytes) => reader.check(bytes))).resolves.not.toThrow();
  });

  test('and cases made from the corpus', async () => {
    const seeds = [...corpus.values()];
    await fc.assert(
      fc.asyncProperty(fc.gen(), async (generate) => {
        const input = changedCase(generate, { seeds, ...reader });
        await Promise.resolve(input)
          .then((bytes) => reader.check(bytes))
          .catch((error: unknown) => {
            throw new Error(`a finding; add this line to test/fuzz/corpus/${name}.jsonl:\n${findingLine(input)}`, {
              cause: error,
            });
          });
      }),
      { numRuns: cases(name), includeErrorInReport: true },
    );
    expect(seeds).not.toEqual([]);
  });
});

test('a line of a corpus file is ASCII and keeps any name and any bytes', () => {
  const bytes = fc.oneof(
    fc.uint8Array(),
    fc.string({ unit: 'binary' }).map((text) => Buffer.from(text)),
  );
  fc.assert(
    fc.property(fc.string(), bytes, (name, content) => {
      const line = lineOf(name, Buffer.from(content));
      expect(line).toMatch(/^[ -~]+$/);
      expect(caseOf(line)).toEqual([name, Buffer.from(content)]);
    }),
  );
});
