import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { outcome, sallyport } from '../serve/process.ts';

/** What users begin with: each step, and what came of it. */
export type Trial = Readonly<Record<string, unknown>>;

/** What comes of a trial where all is well. */
export const passed: Trial = {
  init: { code: 0, stderr: '' },
  test: { code: 0, stderr: '' },
  'serve --workers 2': { known: 401, unknown: 404, ended: 0 },
};

/** Writes files to begin with in `place`, an empty folder, tests them, and serves by them. */
export async function tryOut(program: string, place: string): Promise<Trial> {
  const found: Record<string, unknown> = {};
  for (const command of ['init', 'test']) {
    const { code, stderr } = await outcome([command], place, { program });
    found[command] = { code, stderr };
  }
  // Several processes count against one rate in a store, and there is none.
  const file = join(place, 'gateway.yaml');
  await writeFile(file, (await readFile(file, 'utf8')).replace(/rate: .*/, 'rate: off'));
  const env = { GATEWAY_LISTEN: '127.0.0.1:0', GATEWAY_ADMIN: 'off' };
  const gateway = sallyport(['serve', '--workers', '2'], place, { program, env });
  const [, url] = await gateway.says(/"msg":"listening","url":"([^"]+)"/);
  const known = (await fetch(`${url}/mcp`)).status;
  const unknown = (await fetch(`${url}/elsewhere`)).status;
  gateway.signal('SIGTERM');
  return { ...found, 'serve --workers 2': { known, unknown, ended: await gateway.ended } };
}
