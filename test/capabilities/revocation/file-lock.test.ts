import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { LockedError, lockFile } from '../../../src/capabilities/revocation/file-lock.ts';

let path: string;
beforeEach(async () => {
  path = join(await mkdtemp(join(tmpdir(), 'sallyport-')), 'of-the-test.lock');
});

/** Another process that takes the lock. */
async function holder() {
  const source = `import { lockFile } from ${JSON.stringify(new URL('../../../src/capabilities/revocation/file-lock.ts', import.meta.url).href)};
await lockFile(${JSON.stringify(path)}); console.log('locked'); setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', source], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(child.stdout, 'data');
  return async () => {
    child.kill('SIGKILL');
    await once(child, 'exit');
  };
}

test('is refused while another process has it, and free once that process was killed', async () => {
  const kill = await holder();
  await expect(lockFile(path)).rejects.toThrow(LockedError);
  await kill();
  expect(existsSync(path)).toBe(true);
  const unlock = await lockFile(path);
  await expect(lockFile(path)).rejects.toThrow(LockedError);
  await unlock();
});

test('has one owner of many that take it over at once', async () => {
  await (
    await holder()
  )();
  const taken = await Promise.allSettled(Array.from({ length: 20 }, () => lockFile(path)));
  const unlocks = taken.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
  expect(unlocks).toHaveLength(1);
  await unlocks[0]?.();
});

test('is free after its release, which leaves nothing behind', async () => {
  const unlock = await lockFile(path);
  await unlock();
  expect(existsSync(path)).toBe(false);
  await (
    await lockFile(path)
  )();
});

test('fails where there can be no socket', async () => {
  await expect(lockFile(join(path, 'below', 'x'))).rejects.toThrow(/EACCES|ENOENT|ENOTDIR/);
  await expect(lockFile(join(path, 'x'.repeat(200)))).rejects.toThrow(/EINVAL|ENAMETOOLONG/);
});
