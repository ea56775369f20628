/**
 * Installs MCP clients from npm in a folder of its own, and lets each sign in at the front door and call tools through
 * the gateway, as a person does on a command line.
 *
 *     npm run conformance:clients -- [--only NAME] [--folder FOLDER]
 *
 * @module
 */
import { spawnSync } from 'node:child_process';
import { mkdir, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { startFrontDoorWorld } from '../../test/worlds/front-door.ts';
import { type Program, programs, type Step, steps } from './programs.ts';
import { startScriptedModel } from './scripted-model.ts';

const { values: options } = parseArgs({ options: { only: { type: 'string' }, folder: { type: 'string' } } });
const folder = options.folder ?? (await mkdtemp(join(tmpdir(), 'sallyport-clients-')));
for (const program of programs) {
  if (program.name !== (options.only ?? program.name)) continue;
  if (!install(program.packages)) {
    process.stdout.write(`${program.name}: skipped, npm cannot install ${program.packages.join(' ')} here\n`);
    continue;
  }
  const done = await walk(program);
  const differences = steps.filter((step) => done.includes(step) !== program.does.includes(step));
  process.stdout.write(
    `${program.name}: ${done.join(', ')}${program.note === undefined ? '' : ` (${program.note})`}\n`,
  );
  if (differences.length === 0) continue;
  process.stdout.write(`  expected: ${program.does.join(', ')}; its output is in ${join(folder, program.name)}\n`);
  process.exitCode = 1;
}

/** Installs packages without their install scripts. */
function install(packages: readonly string[]): boolean {
  const command = [
    'install',
    '--prefix',
    folder,
    '--ignore-scripts',
    '--no-audit',
    '--no-fund',
    '--prefer-offline',
    '--fetch-retries=0',
  ];
  return spawnSync('npm', [...command, ...packages], { stdio: 'ignore' }).status === 0;
}

/** What a client did, from a world of its own. */
async function walk(program: Program): Promise<readonly Step[]> {
  const home = join(folder, program.name);
  await mkdir(home, { recursive: true });
  const model = await startScriptedModel();
  const world = await startFrontDoorWorld({
    scopes: '{ read: { title: Read }, payments: { title: Move money, lifetime: 60s } }',
    frontDoor: `clients: { refresh: true, registration: { redirect_uris: [known:loopback] } }`,
  });
  try {
    const installed = (path: string): string => join(folder, 'node_modules', path);
    await program.walk({ url: world.mcpUrl.href, issuer: world.issuer, folder: home, model, installed });
    const decisions = (await world.lines()).filter(({ msg, allow }) => msg === 'decision' && allow === true);
    const did: Readonly<Record<Step, boolean>> = {
      'signed in': world.observed.includes('token authorization_code ok'),
      listed: decisions.some(({ method }) => method === 'tools/list'),
      called: decisions.some(({ tool }) => tool === 'list_accounts'),
      'stepped up': decisions.some(({ tool }) => tool === 'transfer_funds'),
      refreshed: world.observed.includes('token refresh_token ok'),
    };
    return steps.filter((step) => did[step]);
  } finally {
    await Promise.all([world.close(), model.close()]);
  }
}
