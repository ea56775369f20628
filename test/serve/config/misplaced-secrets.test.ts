import { describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { isSecret } from '../../../src/core/config/schema.ts';
import { at, everyKey, places, replaced } from './every-key.ts';
import { refusals } from './folder.ts';
import { words } from '../../support/words.ts';

/** Short and plain: nothing in it says that it is one. */
const plain = 'hunter7-x';
/** As generators write them. */
const generated = [
  'kN3v9QxZ0pLr7TtYw2Bc5Df8Gh1Jm4Ks',
  '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
  'eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhIn0.c2lnbmF0dXJl',
  'ghp_16C7e42F292c6912E7710c838347Ae178B4a',
  'v8Q~3kLmN-pQrStUvWxYz0123456789AbCdEf',
];

const shapes: readonly (readonly [string, (secret: string) => unknown])[] = [
  ['a mapping', (secret) => ({ value: secret })],
  ['a key', (secret) => ({ [secret]: 'x' })],
  ['a key without value', (secret) => ({ [secret]: null })],
  ['a list', (secret) => [secret, secret]],
  ['a mapping of lists', (secret) => ({ from: [{ [secret]: secret }] })],
  ['itself', (secret) => secret],
];

const secretPlaces = places(everyKey).filter((path) => typeof at(everyKey, path) === 'string' && isSecret(path));
const stringPlaces = places(everyKey).filter((path) => typeof at(everyKey, path) === 'string');

/** The messages about a document that show a secret, or nearly all of it. */
async function shownIn(document: unknown, secret: string): Promise<readonly string[]> {
  const lines = await refusals({ yaml: stringify(document) });
  return lines.filter((line) => line.includes(secret.slice(2, -2)));
}

describe('R-159: a secret never appears in an error', () => {
  test.each(shapes)('%s where a secret belongs', async (_title, shaped) => {
    for (const path of secretPlaces) expect(await shownIn(replaced(everyKey, path, shaped(plain)), plain)).toEqual([]);
  });

  test.each(words('client_secrett clientSecret password secret api_key apiKey private_key session_keys'))(
    'under the unknown key %s, whatever it holds',
    async (key) => {
      for (const parent of [
        [],
        ['authorization_servers', 'main'],
        ['authorization_servers', 'main', 'introspection'],
      ]) {
        const path = [...parent, key];
        expect(await shownIn(replaced(everyKey, path, { value: plain, from: [plain] }), plain)).toEqual([]);
      }
    },
  );

  test('random-looking text in any place', async () => {
    for (const [index, path] of [...stringPlaces, ['routes', 0, 'policy']].entries()) {
      const secret = generated[index % generated.length] ?? '';
      const value = index % 2 === 0 ? secret : { [secret]: secret };
      expect(await shownIn(replaced(everyKey, path, value), secret)).toEqual([]);
    }
  });
});

test('a message shows other text, so that the operator finds the mistake', async () => {
  const lines = await refusals({ yaml: stringify(replaced(everyKey, ['routes', 0, 'upstream', 'token'], 'phantm')) });
  expect(lines.join('\n')).toContain('"phantm"');
});
