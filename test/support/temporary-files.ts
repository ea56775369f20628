/** Puts the temporary files of a run into one folder, which goes with the run: no test removes its own. */
import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

let folder: string | undefined;

export function setup(): void {
  if (tmpdir().includes('sallyport-tests-')) return;
  folder = mkdtempSync(join(tmpdir(), 'sallyport-tests-'));
  process.env['TMPDIR'] = folder;
}

export async function teardown(): Promise<void> {
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
}
