import { spawnSync } from 'node:child_process';
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { outcome } from '../commands/run.ts';

const unit = await readFile(new URL('../../deploy/systemd/sallyport.service', import.meta.url), 'utf8');

const program = 'systemd-analyze';
const hasAnalyze = spawnSync(program, ['--version']).status === 0;
if (!hasAnalyze) process.stdout.write('systemd-analyze is not on the PATH: the unit is not checked by it\n');

test('the unit runs existing commands, and stops after the 10 s of streams', async () => {
  const commands = [
    ...unit.matchAll(/^ExecStart(?:Pre)?=\S+\/sallyport (\S+) --config \/etc\/sallyport\/gateway\.yaml$/gm),
  ];
  expect(commands.map(([, command]) => command)).toEqual(['check', 'serve']);
  for (const [, command = ''] of commands) expect(await outcome([command, '--help'])).toMatchObject({ code: 0 });
  expect(Number(/^TimeoutStopSec=(\d+)$/m.exec(unit)?.[1])).toBeGreaterThanOrEqual(15);
});

test('the unit can write to the folders that the pages name', async () => {
  const directories = { lib: 'StateDirectory', log: 'LogsDirectory' } as const;
  const pages = await Promise.all(
    ['revocation', 'monitoring', 'deployment'].map((page) => readFile(`docs/${page}.md`, 'utf8')),
  );
  const folders = new Set(pages.join('').match(/\/var\/\w+\/sallyport\b/g));
  expect([...folders].toSorted()).toEqual(Object.keys(directories).map((name) => `/var/${name}/sallyport`));
  for (const directory of Object.values(directories)) expect(unit).toContain(`\n${directory}=sallyport\n`);
});

describe.skipIf(!hasAnalyze)('systemd-analyze', () => {
  let folder: string;
  let file: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sallyport-unit-'));
    file = join(folder, 'sallyport.service');
    // What is not installed here: the program and the page about it.
    const here = unit
      .replaceAll(/(?<=^Exec\w+=)\S+\/sallyport/gm, process.execPath)
      .replace(/^Documentation=.*\n/m, '');
    await writeFile(file, here);
  });

  test('accepts every line', async () => {
    // It looks at the units of this machine too.
    const verify = (): readonly string[] => {
      const { stderr } = spawnSync(program, ['verify', '--man=no', file], { encoding: 'utf8' });
      return stderr.split('\n').filter((line) => line.includes('sallyport'));
    };
    expect(verify()).toEqual([]);
    // It would have said so.
    await writeFile(file, `${await readFile(file, 'utf8')}\n[Service]\nProtectHme=yes\n`);
    expect(verify().join()).toContain('ProtectHme');
    await writeFile(file, (await readFile(file, 'utf8')).replace('\n[Service]\nProtectHme=yes\n', ''));
  });

  test('rates the exposure of the unit under 2 of 10', () => {
    const found = spawnSync(program, ['security', '--offline=true', '--threshold=20', file], {
      encoding: 'utf8',
    });
    expect(found).toMatchObject({ status: 0 });
  });
});
