import { chmod, mkdtemp, readFile, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { createKeys, readSecret } from '../../src/front-door/keys.ts';

let folder: string;
let file: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sallyport-'));
  file = join(folder, 'front-door.json');
});

test('creates the file for its user alone, and reads it afterwards', async () => {
  const secret = await readSecret(file, undefined);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect(await readSecret(file, 'k3y-of-at-least-thirty-two-characters')).toBe(secret);
  expect(await readFile(file, 'utf8')).toContain(secret);
});

test('refuses a file that others may read, and one without a secret', async () => {
  await readSecret(file, undefined);
  await chmod(file, 0o640);
  await expect(readSecret(file, undefined)).rejects.toThrow(`${file} is open to others: chmod 600`);
  await writeFile(join(folder, 'other.json'), '{"secret":"short"}', { mode: 0o600 });
  await expect(readSecret(join(folder, 'other.json'), undefined)).rejects.toThrow('has no secret');
  await expect(readSecret(join(folder, 'no', 'folder.json'), undefined)).rejects.toThrow('front_door.keys: ENOENT');
});

test('derives the secret from session_key, or makes a random one', async () => {
  const derived = await readSecret(undefined, 'k3y-of-at-least-thirty-two-characters');
  expect(await readSecret(undefined, 'k3y-of-at-least-thirty-two-characters')).toBe(derived);
  expect(await readSecret(undefined, 'another k3y-of-at-least-thirty-two')).not.toBe(derived);
  expect(await readSecret(undefined, undefined)).not.toBe(await readSecret(undefined, undefined));
});

test('signs with a new key each day, and keeps those of yesterday and tomorrow', () => {
  let now = Date.UTC(2026, 0, 1);
  const keys = createKeys('a'.repeat(64), () => now);
  const [today, yesterday, tomorrow] = keys.signing().map(({ kid }) => kid);
  now += 86_400_000;
  expect(keys.signing().map(({ kid }) => kid)).toEqual([tomorrow, today, expect.any(String)]);
  expect(keys.signing().map(({ kid }) => kid)).not.toContain(yesterday);
});
