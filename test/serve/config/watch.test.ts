import { appendFileSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { link, mkdir, mkdtemp, readFile, rename, symlink, utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { watchFiles, type Watching } from '../../../src/serve/config/watch.ts';

let folder: string;
const watching: Watching[] = [];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sallyport-watch-'));
  await Promise.all(['a', 'b', 'x/b', 'policies/a.yaml'].map((name) => write(name, 'one')));
});
afterEach(() => {
  for (const each of watching.splice(0)) each.close();
});

const at = (name: string): string => join(folder, name);
// Each in one turn: on a busy machine the watcher would look between the steps, and rightly report them one by one.
async function write(name: string, text: string): Promise<void> {
  mkdirSync(dirname(at(name)), { recursive: true });
  writeFileSync(at(name), text);
}
async function replace(name: string, text: string): Promise<void> {
  const written = write(`${name}.new`, text);
  renameSync(at(`${name}.new`), at(name));
  await written;
}
const remove = async (name: string): Promise<void> => rmSync(at(name), { recursive: true });

/** Watches files, counts the reports of the watcher, and waits for the next one. */
class Told {
  times = 0;
  private resolve: () => void = () => {};

  readonly tell = (): void => {
    this.times += 1;
    this.resolve();
  };

  /** Watches these files from now on. */
  async watch(names: readonly string[], since?: number): Promise<Watching> {
    const started = await watchFiles(names.map(at), this.tell, since);
    watching.push(started);
    return started;
  }

  /** Makes a change, and waits until the watcher reports it. */
  async of(change: () => Promise<unknown>): Promise<void> {
    const next = this.next();
    await change();
    await next;
  }

  /** Waits: is nothing told? */
  isQuiet(): Promise<boolean> {
    return this.next(400).then(
      () => false,
      () => true,
    );
  }

  next(withinMs = 60_000): Promise<void> {
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => reject(new Error('nothing was told')), withinMs);
      this.resolve = () => {
        clearTimeout(late);
        resolve();
      };
    });
  }
}

async function watched(...names: readonly string[]): Promise<Told> {
  const told = new Told();
  await told.watch(names);
  return told;
}

type Changes = readonly (() => Promise<unknown>)[];

test.each<[title: string, name: string, changes: Changes]>([
  ['a file that is written in place', 'a', [() => write('a', 'two')]],
  ['a file that is replaced by rename', 'a', ['two', 'three', 'four'].map((text) => () => replace('a', text))],
  ['a file that is deleted', 'a', [() => remove('a'), () => write('a', 'two'), () => write('a', 'three')]],
  ['a new file', 'c', [() => write('c', '')]],
  ['a new file in a new folder', 'new/y/b', [() => write('new/y/b', 'one')]],
  ['a file whose folder is deleted', 'x/b', [() => remove('x'), () => write('x/b', '2'), () => write('x/b', '3')]],
  ['a folder that gets a file', 'policies', [() => write('policies/b.yaml', '{}')]],
  ['a folder that loses a file', 'policies', [() => remove('policies/a.yaml')]],
  [
    'a folder that is deleted',
    'policies',
    [() => remove('policies'), () => write('policies/b.yaml', '{}'), () => write('policies/c.yaml', '{}')],
  ],
])('reports %s, and each later change', async (_title, name, changes) => {
  const told = await watched(name);
  for (const change of changes) await told.of(change);
  expect(told.times).toBe(changes.length);
});

test('reports several steps and files as one change', async () => {
  const told = await watched('a', 'b');
  await told.of(async () => {
    for (const letter of 'abcdefghij') appendFileSync(at('a'), letter);
    await write('b', 'two');
  });
  expect(await told.isQuiet()).toBe(true);
  expect(told.times).toBe(1);
});

test('reports a change although events never pause', async () => {
  const told = await watched('a');
  const next = told.next();
  await write('a', 'two');
  const noise = setInterval(() => appendFileSync(at('log'), '.'), 20);
  await next.finally(() => clearInterval(noise));
  expect(told.times).toBe(1);
});

test.each<[title: string, change: () => Promise<unknown>]>([
  ['a file that is touched', () => utimes(at('a'), new Date(), new Date())],
  ['a file that is saved with the same text', () => replace('a', 'one')],
  ['another file in its folder', () => write('c', 'x')],
  ['the hidden files of an editor in a watched folder', () => write('policies/.b.yaml.swp', 'x')],
])('reports no change for %s', async (_title, change) => {
  const told = await watched('a', 'policies');
  await change();
  expect(await told.isQuiet()).toBe(true);
  await told.of(() => write('a', 'the end'));
  expect(told.times).toBe(1);
});

test('reports no edit after close', async () => {
  const [closed, open] = [new Told(), await watched('a')];
  (await closed.watch(['a'])).close();
  await open.of(() => write('a', 'two'));
  expect(await closed.isQuiet()).toBe(true);
});

describe('a symbolic link', () => {
  /** A folder as Kubernetes mounts it: `..data` is turned to a new folder at each change. */
  async function mount(version: number, text: string): Promise<void> {
    await write(`..${version}/gateway.yaml`, text);
    await symlink(`..${version}`, at('..data_tmp'));
    await rename(at('..data_tmp'), at('..data'));
    if (version > 1) await remove(`..${version - 1}`);
  }

  test('is reported each time it leads to another folder with another text, as Kubernetes changes it', async () => {
    await mount(1, 'one');
    await symlink('..data/gateway.yaml', at('gateway.yaml'));
    const told = await watched('gateway.yaml');
    await mount(2, 'one');
    expect(await told.isQuiet()).toBe(true);
    for (const version of [3, 4]) {
      await told.of(() => mount(version, `version ${version}`));
      expect(await readFile(at('gateway.yaml'), 'utf8')).toBe(`version ${version}`);
    }
    expect(told.times).toBe(2);
  });

  test('is reported when its target in another folder is written or replaced', async () => {
    await mkdir(at('here'));
    await symlink('../x/b', at('here/a'));
    const told = await watched('here/a');
    await told.of(() => write('x/b', 'two'));
    await told.of(() => replace('x/b', 'three'));
    expect(told.times).toBe(2);
  });

  test('is reported when it leads to another folder', async () => {
    await mkdir(at('v1'));
    await write('v2/b.yaml', '{}');
    await symlink('v1', at('current'));
    const told = await watched('current');
    await told.of(async () => {
      await symlink('v2', at('next'));
      await rename(at('next'), at('current'));
    });
    // By looking every now and then alone it would take four times two seconds.
    const before = Date.now();
    for (const name of ['c', 'd', 'e', 'f']) await told.of(() => write(`v2/${name}.yaml`, '{}'));
    expect(Date.now() - before).toBeLessThan(5_000);
    expect(told.times).toBe(5);
  });
});

describe('follow', () => {
  test('watches the new files instead', async () => {
    const told = new Told();
    await (await told.watch(['a'])).follow([at('b')]);
    await write('a', 'two');
    expect(await told.isQuiet()).toBe(true);
    await told.of(() => write('b', 'two'));
  });

  test('misses no change during a reload', async () => {
    const told = new Told();
    const files = await told.watch(['a']);
    await told.of(async () => {
      await write('a', 'two');
      await files.follow([at('a'), at('b')]);
    });
    expect(told.times).toBe(1);
  });

  test('reports a new file that changed after it was read, once', async () => {
    const told = new Told();
    const files = await told.watch(['a']);
    const since = Date.now();
    await write('b', 'two');
    await told.of(() => files.follow([at('a'), at('b')], since));
    await files.follow([at('a'), at('b')], since);
    expect(await told.isQuiet()).toBe(true);
  });

  test('applies to the first files too', async () => {
    const told = new Told();
    await told.of(() => told.watch(['a'], Date.now() - 60_000));
    expect(told.times).toBe(1);
  });
});

test('reports a changed file for which the system sends no events', async () => {
  // Like a single file that is mounted into a container: it is written by its other name, in a folder that is not ours.
  await mkdir(at('here'));
  await link(at('x/b'), at('here/a'));
  const told = await watched('here/a');
  await told.of(() => write('x/b', 'two'));
  expect(told.times).toBe(1);
});
