import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { at, everyKey, places, replaced } from './every-key.ts';
import { edited, refusals } from './folder.ts';
import { runs } from '../../support/runs.ts';

/** Long enough not to be part of a message by chance; with what YAML and URLs treat as syntax. */
const secret = fc
  .tuple(
    fc.constantFrom('', '*', '!', '&', '@', '%', '`', '|', '{', '[', "'", '"', ': ', '#', '?', '- '),
    fc.stringMatching(/^[a-zA-Z0-9/+=]{16,24}$/),
  )
  .map(([prefix, core]) => ({ text: prefix + core, core }));

/** What to break, besides whatever the secret itself breaks. */
const flaw = fc.constantFrom<readonly [string, string]>(
  ['path: /api', 'path: api'],
  ['routes:', 'rout:'],
  ['RS256', 'none'],
  ['client_id', 'clientid'],
  ['url: http', 'url: ftp'],
  ['  main:', '  ma in:'],
  ['client_id: gateway,', 'client_id: {gateway,'],
  ['introspection:', 'jwt:'],
);

const strings = places(everyKey).filter((path) => typeof at(everyKey, path) === 'string');

describe('no message shows', () => {
  test('a secret in the file itself, however it breaks the file', async () => {
    await fc.assert(
      fc.asyncProperty(
        secret,
        flaw,
        fc.constantFrom(' }', ', client_auth: x }', ''),
        async ({ text, core }, flaw, end) => {
          const lines = await refusals({ yaml: edited(flaw, ['s3cr3t }', text + end]) });
          expect(lines).not.toEqual([]);
          expect(lines.join('\n')).not.toContain(core);
        },
      ),
      { numRuns: runs / 6 },
    );
  });

  test.each<readonly [title: string, written: (secret: string) => string]>([
    ['of the environment', () => '${env:SECRET}'],
    ['of a file', () => '${file:secret}'],
    ['of the environment, within more', () => 'http://x/${env:SECRET}?y'],
    ['of an ill-formed placeholder', () => '${env:SECRET-}'],
    ['that is the default of a placeholder', (text) => `\${env:UNSET:-${text}}`],
  ])('a value %s', async (_title, written) => {
    await fc.assert(
      fc.asyncProperty(secret, fc.constantFrom(...strings), async ({ text, core }, path) => {
        const yaml = stringify(replaced(everyKey, path, written(text)));
        const lines = await refusals({ yaml, env: { SECRET: text }, files: { secret: text } });
        expect(lines.join('\n')).not.toContain(core);
      }),
      { numRuns: runs / 6 },
    );
  });

  test('the password of a URL', async () => {
    await fc.assert(
      fc.asyncProperty(
        secret,
        fc.constantFrom(...strings),
        fc.constantFrom('http://', 'http:', 'ftp://', ''),
        async ({ core }, path, scheme) => {
          const lines = await refusals({ yaml: stringify(replaced(everyKey, path, `${scheme}u:${core}@h/?${core}`)) });
          expect(lines.join('\n')).not.toContain(core);
        },
      ),
      { numRuns: runs / 6 },
    );
  });
});
