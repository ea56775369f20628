import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { RevocationFile } from '../../../src/capabilities/revocation/revocation-file.ts';

const revocation = { issuer: 'https://as.example', at: 1_800_000_000, arrivedAt: 1_800_000_000 };
const eventOf = (subject: string) => ({
  revocations: [{ ...revocation, subject }],
  id: subject,
  arrivedAt: 1_800_000_000,
});

test('a line that a crash cut is dropped, and a damaged file is refused', async () => {
  const path = join(await mkdtemp(join(tmpdir(), 'sallyport-')), 'revocations.jsonl');
  const open = () => RevocationFile.open(path, () => []);
  const whole = `${JSON.stringify(eventOf('alice'))}\n`;
  // Longer than the line that takes its place.
  const torn = `{"revocations":[{"issuer":"${'x'.repeat(500)}`;
  await writeFile(path, whole + torn);
  const { file, events, cutBytes } = await open();
  expect([events, cutBytes]).toEqual([[eventOf('alice')], torn.length]);
  await file.keep(eventOf('bob').revocations, 'bob', eventOf('bob').arrivedAt);
  await file.close();
  expect(await readFile(path, 'utf8')).toBe(`${whole}${JSON.stringify(eventOf('bob'))}\n`);
  // A member that is not known narrows what is revoked: without it, the line would speak of every token of the issuer.
  const unknown = JSON.stringify({ ...eventOf('x'), revocations: [{ ...revocation, tenant: 'acme' }] });
  for (const damaged of ['garbage', unknown]) {
    await writeFile(path, `${damaged}\n${whole}`);
    await expect(open()).rejects.toThrow('line 1 is not a revocation, and is not the last one; restore the file');
  }
});
