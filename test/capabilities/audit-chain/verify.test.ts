import { spawnSync } from 'node:child_process';
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { mkdtemp, readFile, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { Chain } from '../../../src/capabilities/audit-chain/chain.ts';
import { outcome } from '../../commands/run.ts';
import { folderWith } from '../../serve/config/folder.ts';
import { sallyport } from '../../serve/process.ts';

const { privateKey, publicKey } = generateKeyPairSync('ed25519');
const keySet = (key: KeyObject): string => JSON.stringify({ keys: [{ ...key.export({ format: 'jwk' }), kid: 'k' }] });
let folder = '';
let keys = '';

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'chain-'));
  keys = join(folder, 'keys.json');
  await writeFile(keys, keySet(publicKey));
});

/** The lines of a process that wrote this many, in batches, with a checkpoint after each and at its end. */
function written(count: number, follows: ConstructorParameters<typeof Chain>[0]['follows'] = []): string[] {
  const chain = new Chain({ key: { kid: 'k', key: privateKey }, follows, clock: () => 0 });
  let text = '';
  for (let at = 0; at < count; at += 5) {
    const names = Array.from({ length: Math.min(5, count - at) }, (_, i) => `{"msg":"decision","n":${at + i}}\n`);
    chain.closeSection();
    const bytes = chain.link(Buffer.from(names.join('')));
    chain.settled(bytes.length);
    text += bytes.toString();
  }
  chain.closeSection();
  const last = chain.link(Buffer.alloc(0));
  chain.settled(last.length);
  return (text + last.toString()).split('\n').slice(0, -1);
}

let files = 0;

/** What the command says of files with these lines. */
async function verified(...logs: readonly (readonly string[])[]) {
  const names: string[] = [];
  for (const lines of logs) {
    files += 1;
    const name = join(folder, `${files}.jsonl`);
    await writeFile(name, lines.map((line) => `${line}\n`).join(''));
    names.push(name);
  }
  const { code, stdout, stderr } = await outcome(['log', '--verify', ...names, '--keys', keys]);
  return { code, stdout, stderr: names.reduce((text, name, at) => text.replaceAll(name, `file${at}`), stderr) };
}

const whole = written(23);

const hasPython = spawnSync('python3', ['-c', 'import cryptography']).status === 0;

test.skipIf(!hasPython)(
  'deploy/audit/verify.py accepts a whole log, and no line that changed, moved or is gone',
  async () => {
    const changed = whole.map((line, at) => (at === 7 ? line.replace('decision', 'decisioN') : line));
    const without = whole.toSpliced(7, 1);
    const doubled = whole.toSpliced(7, 0, whole[7] ?? '');
    const foreign = [...whole, '{"msg":"decision"}'];
    const codes: unknown[] = [];
    for (const [at, lines] of [whole, changed, without, doubled, foreign].entries()) {
      const name = join(folder, `python-${at}.jsonl`);
      await writeFile(name, lines.map((line) => `${line}\n`).join(''));
      codes.push(spawnSync('python3', ['deploy/audit/verify.py', keys, name]).status);
    }
    expect(codes).toEqual([0, 1, 1, 1, 1]);
  },
);

test('R-353: a log that nobody changed is accepted, whole, in parts, and in any order of the parts', async () => {
  for (const logs of [[whole], [whole.slice(0, 9), whole.slice(9)], [whole.slice(9), whole.slice(0, 9)]])
    expect(await verified(...logs)).toMatchObject({ code: 0, stderr: '' });
  const { stdout } = await verified(whole);
  expect(stdout).toMatch(
    /^chain [\w-]+: \d+ lines; last checkpoint at line \d+, .* by k; no checkpoint vouches for 0 lines after it\n$/,
  );
});

describe('R-353: each line that is', () => {
  const middle = whole.map((_, at) => at).slice(1, -1);
  test('changed is found', async () => {
    for (const at of middle) {
      const changed = whole.with(at, (whole[at] ?? '').replace('"msg"', '"Msg"'));
      const { code, stderr } = await verified(changed);
      expect([at, code, stderr]).toEqual([at, 1, expect.stringMatching(new RegExp(`^file0:${at + 1}: `)) as string]);
    }
  });

  test('dropped is found', async () => {
    for (const at of middle) {
      const { code, stderr } = await verified(whole.toSpliced(at, 1));
      expect([at, code, stderr]).toEqual([at, 1, expect.stringContaining(`lines ${at} to ${at} of chain`) as string]);
    }
  });

  test('doubled is found', async () => {
    for (const at of middle)
      expect([at, (await verified(whole.toSpliced(at, 0, whole[at] ?? ''))).code]).toEqual([at, 1]);
  });

  test('moved is found, in one file and into another', async () => {
    for (const at of middle) {
      const others = whole.toSpliced(at, 1);
      const line = whole[at] ?? '';
      expect([at, (await verified(others.toSpliced((at + 7) % others.length, 0, line))).code]).toEqual([at, 1]);
    }
  });

  test('added without a chain is found, but before the first chain', async () => {
    expect((await verified(whole.toSpliced(4, 0, '{"msg":"decision"}'))).stderr).toMatch(
      /^file0:5: belongs to no chain/,
    );
    expect(await verified(['{"msg":"decision"}', ...whole])).toMatchObject({ code: 0 });
  });
});

test('a chain that begins outside the files is reported, and no error', async () => {
  const { code, stdout } = await verified(whole.slice(8));
  expect([code, stdout]).toEqual([0, expect.stringContaining('begins at line 8, outside these files')]);
});

test('a chain that a later one follows, and that is in none of the files, is reported', async () => {
  const follows = [
    { chain: 'away', seq: 7, hash: 'h' },
    { chain: JSON.parse(whole[0] ?? '').chain as string, seq: 0, hash: 'h' },
  ];
  const { code, stdout } = await verified([...whole, ...written(3, follows)], written(2, follows.slice(0, 1)));
  expect([code, stdout.match(/^chain away.*$/gm)]).toEqual([
    0,
    ['chain away: its lines, 0 to 7 at least, are in none of these files'],
  ]);
});

test('lines that are cut off at the end are found by the chain that follows', async () => {
  const next = written(3, [{ chain: JSON.parse(whole[0] ?? '').chain as string, seq: whole.length - 1, hash: 'h' }]);
  expect((await verified([...whole.slice(0, -2), ...next])).stderr).toContain('are missing, which it follows');
});

test('lines after the last checkpoint are counted', async () => {
  expect((await verified(whole.slice(0, -1))).stdout).toContain('no checkpoint vouches for 3 lines after it');
});

test('a chain without a genuine checkpoint is refused', async () => {
  const others = generateKeyPairSync('ed25519').publicKey;
  await writeFile(join(folder, 'other.json'), keySet(others));
  const name = join(folder, 'whole.jsonl');
  await writeFile(name, whole.map((line) => `${line}\n`).join(''));
  const wrong = await outcome(['log', '--verify', name, '--keys', join(folder, 'other.json')]);
  expect([wrong.code, wrong.stderr]).toEqual([1, expect.stringContaining('is a checkpoint with a wrong signature')]);
  expect(await outcome(['log', '--verify', name])).toMatchObject({ code: 2 });
});

test('R-353: a gateway links its outputs, makes its key, and vouches for all of it when it stops', async () => {
  const place = await folderWith({
    yaml: `public_url: http://gateway.test
listen: 127.0.0.1:0
admin: off
log: { level: debug, file: decisions.jsonl, chain: { key: audit.jwk } }
routes:
  - { name: api, path: /api, public: true, upstream: { url: 'http://127.0.0.1:9' } }
`,
  });
  for (const _ of [1, 2]) {
    const gateway = sallyport(['serve'], place);
    const [, url = ''] = await gateway.says(/"url":"([^"]+)"/);
    for (let i = 0; i < 20; i += 1) await fetch(`${url}/api`, { headers: { Host: 'gateway.test' } });
    gateway.signal('SIGTERM');
    expect(await gateway.ended).toBe(0);
    await writeFile(join(place, 'stdout.jsonl'), gateway.stdout());
  }
  expect((await stat(join(place, 'audit.jwk'))).mode & 0o777).toBe(0o600);
  const { x, kid } = JSON.parse(await readFile(join(place, 'audit.jwk'), 'utf8')) as Record<string, string>;
  await writeFile(join(place, 'keys.json'), JSON.stringify({ keys: [{ kty: 'OKP', crv: 'Ed25519', x, kid }] }));
  const args = ['log', '--verify', 'decisions.jsonl', 'stdout.jsonl', '--keys', 'keys.json'];
  const { code, stdout, stderr } = await outcome(args, place);
  expect([code, stderr, stdout.trimEnd().split('\n')]).toEqual([
    0,
    '',
    Array.from({ length: 3 }, () => expect.stringContaining('no checkpoint vouches for 0 lines after it') as string),
  ]);
  const log = await readFile(join(place, 'decisions.jsonl'), 'utf8');
  const firsts = log.split('\n').filter((line) => line.includes('"seq":0,'));
  expect(JSON.parse(firsts[1] ?? '{}')).toMatchObject({
    msg: 'checkpoint',
    follows: [{ seq: expect.any(Number) as number }],
  });
});
