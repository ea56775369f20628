import { lstat, mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { ExitCode } from './exit.ts';

/** The files to write, in the order of reading; from `templates/`, or from `schema/`. */
const configuration = [
  'gateway.yaml',
  'policies/tools.yaml',
  'policies/tools.test.yaml',
  // For editors; the first line of the other files names them.
  'schema/gateway.schema.json',
  'schema/policy.schema.json',
  'schema/policy-test.schema.json',
];
const composition = ['docker-compose.yml', 'prometheus.yml'];

/** The folder of the package, or of the checkout. */
const root = new URL('../../', import.meta.url);

/**
 * `sallyport init`: writes a first configuration. It asks no questions and uses no network.
 *
 * @param folder Created if it does not exist.
 * @param compose Whether to write docker-compose.yml too.
 */
export async function init(folder: string, compose: boolean): Promise<ExitCode> {
  const files = compose ? [...configuration, ...composition] : configuration;
  try {
    const inTheWay = await existing(folder, files);
    if (inTheWay.length > 0) {
      const list = inTheWay.map((file) => `  ${join(folder, file)}\n`).join('');
      process.stderr.write(`sallyport: nothing was written: these files exist already\n${list}`);
      return 1;
    }
    for (const file of files) await write(folder, file);
  } catch (error) {
    if (!(error instanceof Error && 'syscall' in error)) throw error;
    // The message of the system: "EACCES: permission denied, open 'x/gateway.yaml'".
    process.stderr.write(`sallyport: ${error.message}\n`);
    return 1;
  }
  process.stdout.write(written(folder, files, compose));
  return 0;
}

async function existing(folder: string, files: readonly string[]): Promise<readonly string[]> {
  const there = await Promise.all(files.map((file) => exists(join(folder, file))));
  return files.filter((_file, index) => there[index]);
}

/** Whether a path exists. A dangling link counts: writing would follow it. */
async function exists(path: string): Promise<boolean> {
  try {
    await lstat(path);
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return false;
    throw error;
  }
}

async function write(folder: string, file: string): Promise<void> {
  const from = new URL(file.startsWith('schema/') ? file : `templates/${file}`, root);
  const to = join(folder, file);
  await mkdir(dirname(to), { recursive: true });
  // Fails rather than overwrite a file that appeared after the check.
  await writeFile(to, await readFile(from), { flag: 'wx' });
}

function written(folder: string, files: readonly string[], compose: boolean): string {
  const list = files.map((file) => `  ${join(folder, file)}\n`).join('');
  const change = folder === '.' ? '' : `  cd ${quoted(folder)}\n`;
  return `wrote
${list}
Replace every value marked CHANGE, then run
${change}  npx sallyport check
  npx sallyport test
  ${compose ? 'docker compose up' : 'npx sallyport serve'}
`;
}

/** A path quoted for a shell. */
function quoted(path: string): string {
  return /^[\w./@:-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`;
}
