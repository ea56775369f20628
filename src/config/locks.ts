import { join } from 'node:path';
import type { Lock } from '../model/lock.ts';
import type { Files } from './files.ts';
import { lockFileOf, readLockFile } from './lock-file.ts';
import type { LockKey } from './policies.ts';
import type { Problem } from './problems.ts';

/** The locks of a folder of policies. */
export interface ReadLocks {
  /** By the name of their policy; those without problems. */
  readonly locks: ReadonlyMap<string, Lock>;
  readonly problems: readonly Problem[];
  /** The text of each file, by its name within the folder. */
  readonly texts: ReadonlyMap<string, string>;
}

/**
 * Reads `NAME.lock.yaml` for each policy that has the key `lock`.
 *
 * @param label The folder's name in messages.
 */
export async function readLocks(
  folder: string,
  label: string,
  keys: ReadonlyMap<string, LockKey>,
  files: Files,
): Promise<ReadLocks> {
  const locks = new Map<string, Lock>();
  const problems: Problem[] = [];
  const texts = new Map<string, string>();
  for (const [name, { mode, problem }] of keys) {
    const file = lockFileOf(name);
    const { text, fault } = await files.text(join(folder, file));
    if (text === undefined) {
      problems.push(problem(`${join(label, file)} ${fault}; sallyport lock writes it`));
      continue;
    }
    texts.set(file, text);
    const { approved, problems: found } = readLockFile(join(label, file), text);
    problems.push(...found);
    if (found.length === 0) locks.set(name, { mode, approved });
  }
  return { locks, problems, texts };
}
