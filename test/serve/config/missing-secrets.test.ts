/** Commands that use no secret work where the secrets of production are not known. */
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { load, loadAdmin, loadWithoutSecrets } from '../../../src/serve/config/load.ts';
import { ConfigError } from '../../../src/core/config/problems.ts';
import { isSecret } from '../../../src/core/config/schema.ts';
import { outcomeIn } from '../../commands/run.ts';
import { at, everyKey, places, replaced } from './every-key.ts';
import { edited, folderWith } from './folder.ts';

const secrets = places(everyKey).filter((path) => typeof at(everyKey, path) === 'string' && isSecret(path));
const others = ['public_url', 'log.file'].map((path) => path.split('.'));

async function problemsOf(reading: Promise<unknown>): Promise<readonly string[]> {
  try {
    await reading;
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems.map(({ message }) => message);
    throw error;
  }
}

async function fileWith(document: unknown): Promise<string> {
  return join(await folderWith({ yaml: stringify(document) }), 'gateway.yaml');
}

describe.each([
  ['${env:NOT_SET_IN_ANY_SHELL}', 'the environment variable NOT_SET_IN_ANY_SHELL is not set'],
  ['${file:no-such-secret}', '${file:no-such-secret} does not exist'],
])('%s', (placeholder, message) => {
  test.each(secrets.map((path) => [path.join('.'), path] as const))('as %s: serve refuses it', async (_, path) => {
    const file = await fileWith(replaced(everyKey, path, placeholder));
    expect(await problemsOf(load(file))).toContain(message);
    expect(await problemsOf(loadWithoutSecrets(file))).not.toContain(message);
  });

  test('as all secrets at once adds no problem for a command that uses none', async () => {
    const plain = await problemsOf(load(await fileWith(everyKey)));
    const document = secrets.reduce((changed, path) => replaced(changed, path, placeholder), everyKey);
    expect(await problemsOf(loadWithoutSecrets(await fileWith(document)))).toEqual(plain);
  });

  test.each(others)('as a value that is no secret is a problem for each command: %s', async (...path) => {
    const file = await fileWith(replaced(everyKey, path, placeholder));
    expect(await problemsOf(loadWithoutSecrets(file))).toContain(message);
  });
});

test('a malformed placeholder is a problem for each command', async () => {
  const file = await fileWith(replaced(everyKey, ['session_key'], '${env:A-b}'));
  expect(await problemsOf(loadWithoutSecrets(file))).toContainEqual(expect.stringContaining('a malformed placeholder'));
});

const unset = edited(
  ['client_secret: s3cr3t', 'client_secret: "${env:NOT_SET_IN_ANY_SHELL}"'],
  ['audience: https://api.example', 'audience: https://api.example\n    policy: api'],
);
const files = {
  'policies/api.yaml': 'scope: read\n',
  'policies/api.test.yaml': 'tests:\n  - name: reads\n    caller: { sub: a, scope: read }\n    expect: allow\n',
  'old/api.yaml': 'scope: read\n',
};

test.each([
  ['test', ['test']],
  ['explain', ['explain', '--claims', '{"sub":"a"}', '--request', 'GET /api']],
  ['compare', ['compare', '--from', 'old']],
  ['replay', ['replay', '-']],
  ['learn', ['learn', '-', '--route', 'api']],
])('%s needs no secret', async (_, args) => {
  const { stderr, stdout } = await outcomeIn({ yaml: unset, files }, args);
  expect(stderr + stdout).not.toContain('NOT_SET_IN_ANY_SHELL');
});

test.each([
  ['check', ['check']],
  ['serve', ['serve']],
  [
    'explain with a token, about which a server may be asked',
    ['explain', '--token', 'opaque', '--request', 'GET /api'],
  ],
])('%s needs every secret', async (_, args) => {
  const { code, stderr } = await outcomeIn({ yaml: unset, files }, args);
  expect([code, stderr]).toEqual([1, expect.stringContaining('NOT_SET_IN_ANY_SHELL is not set') as string]);
});

describe('of an emergency command', () => {
  test('only `admin` is read, whatever is wrong elsewhere', async () => {
    const yaml = `${unset.replace('RS256', 'none')}\nadmin: { listen: '127.0.0.1:9123', token: '\${env:NOT_SET_IN_ANY_SHELL}' }\n`;
    expect(await loadAdmin(join(await folderWith({ yaml }), 'gateway.yaml'))).toMatchObject({
      listen: { host: '127.0.0.1', port: 9123 },
      token: undefined,
    });
  });

  test('reports a mistake in `admin`', async () => {
    const yaml = `${unset}\nadmin: { listen: nowhere, tokn: a }\n`;
    const problems = await problemsOf(loadAdmin(join(await folderWith({ yaml }), 'gateway.yaml')));
    expect(problems.length).toBeGreaterThan(1);
  });
});
