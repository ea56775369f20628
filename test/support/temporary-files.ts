/** What all processes of a run share: a folder for temporary files, which goes with the run, and compiled code. */
import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

let folder: string | undefined;

export function setup(): void {
  // Tests start hundreds of processes, which would each strip the same files of their types and compile them.
  process.env['NODE_COMPILE_CACHE'] ??= fileURLToPath(new URL('../../node_modules/.cache/sallyport/', import.meta.url));
  if (tmpdir().includes('sallyport-tests-')) return;
  folder = mkdtempSync(join(tmpdir(), 'sallyport-tests-'));
  process.env['TMPDIR'] = folder;
}

export async function teardown(): Promise<void> {
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
}
