import { execFile } from 'node:child_process';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { sendJson, startUpstream } from '../support/upstream.ts';

const run = promisify(execFile);
const script = new URL('../../.ci/audit', import.meta.url).pathname;

/** A package with one dependency and one of development: npm takes longer for more of them. */
const root = {
  name: 'audited',
  version: '1.0.0',
  dependencies: { undici: '1.0.0' },
  devDependencies: { vitest: '1.0.0' },
};
const packages = {
  '': root,
  'node_modules/undici': { version: '1.0.0' },
  'node_modules/vitest': { version: '1.0.0', dev: true },
};

/** How `.ci/audit` ends, and what it says, with a registry that knows these weaknesses; or answers no audits at all. */
async function audit(known: Readonly<Record<string, string>> | undefined): Promise<{ code: number; stdout: string }> {
  const registry = await startUpstream((request, response) => {
    const isAudit = request.url === '/-/npm/v1/security/advisories/bulk' && known !== undefined;
    const advisory = (severity: string): object[] => [
      { id: 1, url: 'https://advisories.test/1', title: 'a weakness', severity, vulnerable_versions: '*' },
    ];
    const advisories = Object.entries(known ?? {}).map(([name, severity]) => [name, advisory(severity)]);
    sendJson(response, isAudit ? 200 : 404, isAudit ? Object.fromEntries(advisories) : {});
  });
  const folder = await mkdtemp(join(tmpdir(), 'sallyport-npm-'));
  await writeFile(join(folder, 'package.json'), JSON.stringify(root));
  await writeFile(join(folder, 'package-lock.json'), JSON.stringify({ ...root, lockfileVersion: 3, packages }));
  // npm remembers weaknesses by their number.
  const cache = join(folder, 'cache');
  const env = {
    ...process.env,
    npm_config_registry: `${registry.url}/`,
    npm_config_cache: cache,
    npm_config_fetch_retries: '0',
  };
  try {
    const { stdout } = await run(script, { env, cwd: folder });
    return { code: 0, stdout };
  } catch (error) {
    const { code, stdout } = error as { code: number; stdout: string };
    return { code, stdout };
  } finally {
    await registry.close();
  }
}

test('fails for any vulnerability in the runtime', async () => {
  expect(await audit({ undici: 'low' })).toMatchObject({ code: 1, stdout: expect.stringContaining('undici') });
});

test('fails for a severe vulnerability in development packages alone', async () => {
  const moderate = await audit({ vitest: 'moderate' });
  expect(moderate).toMatchObject({ code: 0, stdout: expect.not.stringContaining('skipped') });
  expect(await audit({ vitest: 'high' })).toMatchObject({ code: 1, stdout: expect.stringContaining('vitest') });
});

test('reports a registry that answers no audits', async () => {
  const { code, stdout } = await audit(undefined);
  expect(code).toBe(0);
  expect(stdout.match(/^skipped: npm audit --.*; the registry answers no audits$/gm)).toHaveLength(2);
});
