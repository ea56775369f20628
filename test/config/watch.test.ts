import { appendFile, link, mkdir, mkdtemp, readFile, rename, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { watchFiles, type Watching } from '../../src/config/watch.ts';

let folder: string;
let watching: Watching | undefined;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sallyport-watch-'));
});
afterEach(async () => {
  watching?.close();
});

/** Counts what is told, and waits for the next. */
class Told {
  times = 0;
  private resolve: () => void = () => {};

  readonly tell = (): void => {
    this.times += 1;
    this.resolve();
  };

  /** Makes a change, and waits until the watcher reports it. */
  async of(change: () => Promise<unknown>): Promise<void> {
    const next = this.next();
    await change();
    await next;
  }

  async each<Item>(items: readonly Item[], change: (item: Item) => Promise<unknown>): Promise<void> {
    for (const item of items) await this.of(() => change(item));
  }

  /** Waits: is nothing told? */
  isQuiet(): Promise<boolean> {
    return this.next(400).then(
      () => false,
      () => true,
    );
  }

  next(withinMs = 10_000): Promise<void> {
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => reject(new Error('nothing was told')), withinMs);
      this.resolve = () => {
        clearTimeout(late);
        resolve();
      };
    });
  }
}

const at = (name: string): string => join(folder, name);

/** Watches `names`, lets `change` happen, and waits until that is told. */
async function toldOf(names: readonly string[], change: () => Promise<unknown>): Promise<Told> {
  const told = new Told();
  watching = await watchFiles(names.map(at), told.tell);
  await told.of(change);
  return told;
}

/** Watches `names`, lets `change` happen, then changes the first of them: how often is told of all that. */
async function untoldOf(names: readonly [string, ...string[]], change: () => Promise<unknown>): Promise<number> {
  const told = new Told();
  watching = await watchFiles(names.map(at), told.tell);
  await change();
  expect(await told.isQuiet()).toBe(true);
  await told.of(() => writeFile(at(names[0]), 'the end'));
  return told.times;
}

describe('a file', () => {
  beforeEach(() => writeFile(at('a'), 'one'));

  test('reports a file that is written in place', async () => {
    expect((await toldOf(['a'], () => writeFile(at('a'), 'two'))).times).toBe(1);
  });

  test('reports each replacement of a file by rename', async () => {
    const told = await toldOf(['a'], async () => {
      await writeFile(at('a.new'), 'two');
      await rename(at('a.new'), at('a'));
    });
    await told.each(['three', 'four'], async (text) => {
      await writeFile(at('a.new'), text);
      await rename(at('a.new'), at('a'));
    });
    expect(told.times).toBe(3);
  });

  test('reports a file that is deleted, created again and written', async () => {
    const told = await toldOf(['a'], () => rm(at('a')));
    await told.each(['two', 'three'], (text) => writeFile(at('a'), text));
    expect(told.times).toBe(3);
  });

  test('reports a new file', async () => {
    expect((await toldOf(['b'], () => writeFile(at('b'), ''))).times).toBe(1);
  });

  test('reports a new file in a new folder', async () => {
    const { times } = await toldOf(['x/y/b'], async () => {
      await mkdir(at('x/y'), { recursive: true });
      await writeFile(at('x/y/b'), 'one');
    });
    expect(times).toBe(1);
  });

  test('reports a file in a folder that is deleted and created again', async () => {
    await mkdir(at('x'));
    await writeFile(at('x/b'), 'one');
    const told = await toldOf(['x/b'], () => rm(at('x'), { recursive: true }));
    await told.each(['two', 'three'], async (text) => {
      await mkdir(at('x'), { recursive: true });
      await writeFile(at('x/b'), text);
    });
    expect(told.times).toBe(3);
  });

  test('reports several steps and files as one change', async () => {
    await writeFile(at('b'), 'one');
    const told = await toldOf(['a', 'b'], async () => {
      for (const letter of 'abcdefghij') await appendFile(at('a'), letter);
      await writeFile(at('b'), 'two');
    });
    expect(await told.isQuiet()).toBe(true);
    expect(told.times).toBe(1);
  });

  test('reports a change although events never pause', async () => {
    const told = new Told();
    watching = await watchFiles([at('a')], told.tell);
    const next = told.next(4_000);
    await writeFile(at('a'), 'two');
    const noise = setInterval(() => void appendFile(at('log'), '.'), 20);
    await next.finally(() => clearInterval(noise));
    expect(told.times).toBe(1);
  });
});

describe('reports no change for', () => {
  beforeEach(() => writeFile(at('a'), 'one'));

  test('a file that is touched', async () => {
    expect(await untoldOf(['a'], () => utimes(at('a'), new Date(), new Date()))).toBe(1);
  });

  test('a file that is saved with the same text', async () => {
    const times = await untoldOf(['a'], async () => {
      await writeFile(at('a.new'), 'one');
      await rename(at('a.new'), at('a'));
    });
    expect(times).toBe(1);
  });

  test('another file in its folder', async () => {
    expect(await untoldOf(['a'], () => writeFile(at('b'), 'x'))).toBe(1);
  });

  test('the hidden files of an editor in a watched folder', async () => {
    await mkdir(at('policies'));
    expect(await untoldOf(['a', 'policies'], () => writeFile(at('policies/.b.yaml.swp'), 'x'))).toBe(1);
  });

  test('any edit after close', async () => {
    const told = new Told();
    watching = await watchFiles([at('a')], told.tell);
    const closed = told.next(2_500);
    await writeFile(at('a'), 'two');
    watching.close();
    await expect(closed).rejects.toThrow('nothing was told');
  });
});

describe('a symbolic link', () => {
  /** A folder as Kubernetes mounts it: `..data` is turned to a new folder at each change. */
  async function mount(version: number, text: string): Promise<void> {
    await mkdir(at(`..${version}`));
    await writeFile(at(`..${version}/gateway.yaml`), text);
    await symlink(`..${version}`, at('..data_tmp'));
    await rename(at('..data_tmp'), at('..data'));
    if (version > 1) await rm(at(`..${version - 1}`), { recursive: true });
  }

  test('is reported each time it leads to another folder, as Kubernetes changes it', async () => {
    await mount(1, 'one');
    await symlink('..data/gateway.yaml', at('gateway.yaml'));
    const told = await toldOf(['gateway.yaml'], () => mount(2, 'two'));
    await told.each([3, 4], async (version) => {
      await mount(version, `version ${version}`);
      expect(await readFile(at('gateway.yaml'), 'utf8')).toBe(`version ${version}`);
    });
  });

  test('is not reported when its new target has the same text', async () => {
    await mount(1, 'one');
    await symlink('..data/gateway.yaml', at('gateway.yaml'));
    const told = new Told();
    watching = await watchFiles([at('gateway.yaml')], told.tell);
    await mount(2, 'one');
    expect(await told.isQuiet()).toBe(true);
    await told.of(() => mount(3, 'three'));
    expect(told.times).toBe(1);
  });

  test('is reported when its target in another folder is written or replaced', async () => {
    await mkdir(at('elsewhere'));
    await writeFile(at('elsewhere/real'), 'one');
    await mkdir(at('here'));
    await symlink('../elsewhere/real', at('here/a'));
    const told = await toldOf(['here/a'], () => writeFile(at('elsewhere/real'), 'two'));
    const next = told.next();
    await writeFile(at('elsewhere/new'), 'three');
    await rename(at('elsewhere/new'), at('elsewhere/real'));
    await next;
    expect(told.times).toBe(2);
  });
});

describe('a folder', () => {
  beforeEach(async () => {
    await mkdir(at('policies'));
    await writeFile(at('policies/a.yaml'), '{}');
  });

  test('reports a folder that gets a file', async () => {
    expect((await toldOf(['policies'], () => writeFile(at('policies/b.yaml'), '{}'))).times).toBe(1);
  });

  test('reports a folder that loses a file', async () => {
    expect((await toldOf(['policies'], () => rm(at('policies/a.yaml')))).times).toBe(1);
  });

  test('reports a folder that is deleted and created again', async () => {
    const told = await toldOf(['policies'], () => rm(at('policies'), { recursive: true }));
    await told.each(['b', 'c'], async (name) => {
      await mkdir(at('policies'), { recursive: true });
      await writeFile(at(`policies/${name}.yaml`), '{}');
    });
    expect(told.times).toBe(3);
  });

  test('reports a folder that is replaced by a link to another', async () => {
    await mkdir(at('v1'));
    await mkdir(at('v2'));
    await writeFile(at('v2/b.yaml'), '{}');
    await symlink('v1', at('current'));
    const told = await toldOf(['current'], async () => {
      await symlink('v2', at('next'));
      await rename(at('next'), at('current'));
    });
    // By looking every now and then alone it would take four times two seconds.
    const before = Date.now();
    await told.each(['c', 'd', 'e', 'f'], (name) => writeFile(at(`v2/${name}.yaml`), '{}'));
    expect(Date.now() - before).toBeLessThan(5_000);
    expect(told.times).toBe(5);
  });
});

describe('follow', () => {
  beforeEach(async () => {
    await writeFile(at('a'), 'one');
    await writeFile(at('b'), 'one');
  });

  test('watches the new files instead', async () => {
    const told = new Told();
    watching = await watchFiles([at('a')], told.tell);
    await watching.follow([at('b')]);
    await writeFile(at('a'), 'two');
    expect(await told.isQuiet()).toBe(true);
    await told.of(() => writeFile(at('b'), 'two'));
  });

  test('misses no change during a reload', async () => {
    const told = new Told();
    watching = await watchFiles([at('a')], told.tell);
    const next = told.next();
    await writeFile(at('a'), 'two');
    await watching.follow([at('a'), at('b')]);
    await next;
    expect(told.times).toBe(1);
  });

  test('reports a new file that changed after it was read, once', async () => {
    const told = new Told();
    watching = await watchFiles([at('a')], told.tell);
    const since = Date.now();
    await writeFile(at('b'), 'two');
    const next = told.next();
    await watching.follow([at('a'), at('b')], since);
    await next;
    await watching.follow([at('a'), at('b')], since);
    expect(await told.isQuiet()).toBe(true);
  });

  test('applies to the first files too', async () => {
    const told = new Told();
    const next = told.next();
    watching = await watchFiles([at('a')], told.tell, Date.now() - 60_000);
    await next;
    expect(told.times).toBe(1);
  });
});

test('reports a changed file for which the system sends no events', async () => {
  // Like a single file that is mounted into a container: it is written by its other name, in a folder that is not ours.
  await mkdir(at('elsewhere'));
  await writeFile(at('elsewhere/real'), 'one');
  await mkdir(at('here'));
  await link(at('elsewhere/real'), at('here/a'));
  expect((await toldOf(['here/a'], () => writeFile(at('elsewhere/real'), 'two'))).times).toBe(1);
});
