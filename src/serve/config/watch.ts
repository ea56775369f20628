import { createHash } from 'node:crypto';
import { type BigIntStats, watch, type FSWatcher } from 'node:fs';
import { readdir, readFile, realpath, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

/** The quiet time before a change is reported: saving takes several steps and touches several files. */
const QUIET_MS = 100;
/** The longest time that a change is held back while events go on. */
const LONGEST_MS = 2_000;
/** The interval of polls: network file systems and single files mounted in containers send no events. */
const POLL_MS = 2_000;
/** The most that a file system's clock may be behind ours. */
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
  const watching = new Watching(onChange);
  await watching.follow(files, since);
  return watching;
}

/** Files that are watched. */
export class Watching {
  readonly #onChange: () => void;
  readonly #watchers = new Map<string, FSWatcher>();
  readonly #poll: NodeJS.Timeout;
  #known = new Map<string, FileState>();
  #overdue = false;
  #closed = false;
  #waiting: NodeJS.Timeout | undefined;
  #firstEventAt = 0;
  #last: Promise<void> = Promise.resolve();

  constructor(onChange: () => void) {
    this.#onChange = onChange;
    // While events still arrive, the timer that they started decides.
    this.#poll = setInterval(() => {
      if (this.#waiting === undefined) void this.#inTurn(() => this.#compare());
    }, POLL_MS).unref();
  }

  /**
   * Watches these files instead. Files that were watched before are compared with their earlier state, so that no
   * change is missed.
   *
   * @param since When the files were about to be read, in milliseconds since the epoch: a later change of a newly
   *   watched file counts.
   */
  follow(files: readonly string[], since = Infinity): Promise<void> {
    return this.#inTurn(async () => {
      const before = this.#known;
      const now = await this.#statesOf(files);
      const isLate = ([path, { changedAt }]: [string, FileState]): boolean =>
        !before.has(path) && changedAt >= since - SLACK_MS;
      if ([...now].some(isLate)) {
        this.#overdue = true;
        this.#onEvent();
      }
      if ([...now].some(([path, { content }]) => before.has(path) && before.get(path)?.content !== content))
        this.#onEvent();
      this.#known = new Map([...now].map(([path, found]) => [path, before.get(path) ?? found]));
      await this.#watchFolders();
    });
  }

  close(): void {
    this.#closed = true;
    clearInterval(this.#poll);
    clearTimeout(this.#waiting);
    for (const [key, watcher] of this.#watchers) this.#forget(key, watcher);
  }

  /** Runs steps one after the other: each compares with the state that the previous one left. */
  #inTurn(step: () => Promise<void>): Promise<void> {
    this.#last = this.#last.then(() => (this.#closed ? undefined : step()));
    return this.#last;
  }

  #onEvent(): void {
    if (this.#closed) return;
    const now = Date.now();
    if (this.#waiting === undefined) this.#firstEventAt = now;
    clearTimeout(this.#waiting);
    const wait = Math.max(0, Math.min(QUIET_MS, this.#firstEventAt + LONGEST_MS - now));
    this.#waiting = setTimeout(() => {
      this.#waiting = undefined;
      void this.#inTurn(() => this.#compare());
    }, wait).unref();
  }

  async #compare(): Promise<void> {
    const before = this.#known;
    this.#known = await this.#statesOf([...before.keys()]);
    await this.#watchFolders();
    const changed = [...this.#known].some(([path, { content }]) => content !== before.get(path)?.content);
    if (this.#closed || !(changed || this.#overdue)) return;
    this.#overdue = false;
    this.#onChange();
  }

  async #statesOf(paths: readonly string[]): Promise<Map<string, FileState>> {
    return new Map(
      await Promise.all(paths.map(async (path) => [path, await readState(path, this.#known.get(path))] as const)),
    );
  }

  /** Watches the folders of all files, by name and by real path. A new folder with an old name is another folder. */
  async #watchFolders(): Promise<void> {
    const paths = [...this.#known].flatMap(([path, { folder, isFolder }]) => [
      dirname(path),
      folder,
      isFolder ? path : undefined,
    ]);
    const wanted = new Map<string, string>();
    for (const path of new Set(paths)) {
      const found = path === undefined ? undefined : await stat(path).catch(() => undefined);
      if (path !== undefined && found !== undefined) wanted.set(`${found.dev}:${found.ino}:${found.birthtimeMs}`, path);
    }
    for (const [key, watcher] of this.#watchers) {
      if (!wanted.has(key)) this.#forget(key, watcher);
    }
    for (const [key, path] of wanted) if (!this.#watchers.has(key) && !this.#closed) this.#watchFolder(key, path);
  }

  #watchFolder(key: string, path: string): void {
    try {
      const watcher = watch(path, { persistent: false }, () => this.#onEvent());
      watcher.on('error', () => this.#forget(key, watcher));
      this.#watchers.set(key, watcher);
    } catch {
      // The folder is gone, or the system has no watches left: polling remains.
    }
  }

  #forget(key: string, watcher: FSWatcher): void {
    this.#watchers.delete(key);
    watcher.close();
  }
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
