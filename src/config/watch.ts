import { createHash } from 'node:crypto';
import { type BigIntStats, watch, type FSWatcher } from 'node:fs';
import { readdir, readFile, realpath, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Files that are watched. */
export interface Watching {
  /**
   * Watches these files instead. Files that were watched before are compared with their earlier state, so that no
   * change is missed.
   *
   * @param since When the files were about to be read, in milliseconds since the epoch: a later change of a newly
   *   watched file counts.
   */
  follow(files: readonly string[], since?: number): Promise<void>;
  close(): void;
}

/** How long nothing may happen before a change is reported: saving takes several steps and touches several files. */
const QUIET_MS = 100;
/** The longest time that a change is held back while events go on. */
const LONGEST_MS = 2_000;
/** How often files are polled: network file systems and single files mounted in containers send no events. */
const POLL_MS = 2_000;
/** How far a file system's clock may be behind ours. */
const SLACK_MS = 20;

/**
 * Calls `onChange` after the content of a file has changed, or after files or names in a folder have come or gone.
 *
 * It compares content, so that every way of saving works: in place, by rename, by a new symbolic link (as Kubernetes
 * does), or by deleting and creating. Touching a file is not a change. Watching does not keep the process alive.
 *
 * @param files Files and folders, whether they exist or not.
 * @param since As in {@link Watching.follow}.
 */
export async function watchFiles(files: readonly string[], onChange: () => void, since?: number): Promise<Watching> {
  let known = new Map<string, FileState>();
  let overdue = false;
  let closed = false;
  const watchers = new Map<string, FSWatcher>();
  let waiting: NodeJS.Timeout | undefined;
  let firstEventAt = 0;
  let last: Promise<void> = Promise.resolve();

  /** Runs steps one after the other: each compares with the state that the previous one left. */
  function inTurn(step: () => Promise<void>): Promise<void> {
    last = last.then(() => (closed ? undefined : step()));
    return last;
  }

  function onEvent(): void {
    if (closed) return;
    const now = Date.now();
    if (waiting === undefined) firstEventAt = now;
    clearTimeout(waiting);
    const wait = Math.max(0, Math.min(QUIET_MS, firstEventAt + LONGEST_MS - now));
    waiting = setTimeout(() => {
      waiting = undefined;
      void inTurn(compare);
    }, wait).unref();
  }

  async function compare(): Promise<void> {
    const before = known;
    known = await statesOf([...before.keys()]);
    await watchFolders();
    const changed = [...known].some(([path, { content }]) => content !== before.get(path)?.content);
    if (closed || !(changed || overdue)) return;
    overdue = false;
    onChange();
  }

  async function statesOf(paths: readonly string[]): Promise<Map<string, FileState>> {
    return new Map(
      await Promise.all(paths.map(async (path) => [path, await readState(path, known.get(path))] as const)),
    );
  }

  /** Watches the folders of all files, by name and by real path. A new folder with an old name is another folder. */
  async function watchFolders(): Promise<void> {
    const paths = [...known].flatMap(([path, { folder, isFolder }]) => [
      dirname(path),
      folder,
      isFolder ? path : undefined,
    ]);
    const wanted = new Map<string, string>();
    for (const path of new Set(paths)) {
      const found = path === undefined ? undefined : await stat(path).catch(() => undefined);
      if (path !== undefined && found !== undefined) wanted.set(`${found.dev}:${found.ino}:${found.birthtimeMs}`, path);
    }
    for (const [key, watcher] of watchers) {
      if (!wanted.has(key)) forget(key, watcher);
    }
    for (const [key, path] of wanted) if (!watchers.has(key) && !closed) watchFolder(key, path);
  }

  function watchFolder(key: string, path: string): void {
    try {
      const watcher = watch(path, { persistent: false }, onEvent);
      watcher.on('error', () => forget(key, watcher));
      watchers.set(key, watcher);
    } catch {
      // The folder is gone, or the system has no watches left: polling remains.
    }
  }

  function forget(key: string, watcher: FSWatcher): void {
    watchers.delete(key);
    watcher.close();
  }

  async function follow(paths: readonly string[], since = Infinity): Promise<void> {
    const before = known;
    const now = await statesOf(paths);
    const isLate = ([path, { changedAt }]: [string, FileState]): boolean =>
      !before.has(path) && changedAt >= since - SLACK_MS;
    if ([...now].some(isLate)) {
      overdue = true;
      onEvent();
    }
    if ([...now].some(([path, { content }]) => before.has(path) && before.get(path)?.content !== content)) onEvent();
    known = new Map([...now].map(([path, found]) => [path, before.get(path) ?? found]));
    await watchFolders();
  }

  await inTurn(() => follow(files, since));
  // While events still arrive, the timer that they started decides.
  const poll = setInterval(() => void (waiting === undefined && inTurn(compare)), POLL_MS).unref();

  return {
    follow: (paths, since) => inTurn(() => follow(paths, since)),
    close() {
      closed = true;
      clearInterval(poll);
      clearTimeout(waiting);
      for (const [key, watcher] of watchers) forget(key, watcher);
    },
  };
}

interface FileState {
  /** A hash of a file's bytes, the names in a folder, or why there is neither. */
  readonly content: string;
  /** The folder that really holds it, with symbolic links resolved. */
  readonly folder: string | undefined;
  /** When its bytes, its name or its rights last changed, in milliseconds since the epoch. */
  readonly changedAt: number;
  readonly isFolder: boolean;
  /** Changes whenever the content may have. */
  readonly stamp: string;
  /** Whether one more change would be sure to show in {@link FileState.stamp}. */
  readonly isSettled: boolean;
}

/**
 * Two changes within one tick of a file system's clock look like one; the coarsest clock in use ticks every 2 s (FAT).
 */
const TICK_MS = 2_000;

/**
 * Reads the state of a file or folder, following symbolic links. It reads the content only if that may differ from
 * `before`. Never throws: a file that cannot be read has a state too.
 */
async function readState(path: string, before?: FileState): Promise<FileState> {
  try {
    if (before?.isSettled === true && stampOf(await stat(path, { bigint: true })) === before.stamp) return before;
    const content = await contentOf(path);
    // After the content: a change in between must count as newer than the content.
    const found = await stat(path, { bigint: true });
    const changedAt = Number(found.ctimeMs);
    return {
      content,
      folder: dirname(await realpath(path)),
      changedAt,
      isFolder: found.isDirectory(),
      stamp: stampOf(found),
      isSettled: Date.now() - changedAt > TICK_MS,
    };
  } catch (error) {
    const content = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    return { content, folder: undefined, changedAt: 0, isFolder: false, stamp: '', isSettled: false };
  }
}

function stampOf({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return [dev, ino, size, mtimeNs, ctimeNs].join(':');
}

async function contentOf(path: string): Promise<string> {
  const found = await stat(path);
  if (found.isDirectory()) return await namesIn(path);
  return found.isFile() ? await hashOf(path) : 'no file';
}

/** Leaves out names that start with a dot, which editors and Kubernetes (`..data`) create for themselves. */
async function namesIn(folder: string): Promise<string> {
  const names = await readdir(folder);
  return JSON.stringify(names.filter((name) => !name.startsWith('.')).toSorted());
}

async function hashOf(file: string): Promise<string> {
  return createHash('sha256')
    .update(await readFile(file))
    .digest('base64url');
}
