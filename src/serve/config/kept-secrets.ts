import { disk, type Files } from '../../core/config/files.ts';
import { secretIn } from '../../core/config/placeholders.ts';
import type { TextOrFault } from '../../core/lib/files.ts';
import type { Loaded } from './load.ts';

/**
 * The disk for reloads. A file of a secret that is missing, empty or unreadable has its last good text: while secrets
 * are replaced, other edits take effect.
 */
export class KeptSecrets implements Files {
  readonly #texts = new Map<string, string>();
  readonly #stale = new Map<string, string>();
  readonly names = disk.names;

  constructor(first: Pick<Loaded, 'secrets' | 'snapshot'>) {
    this.keep(first);
  }

  get at(): number {
    return disk.at;
  }

  /** Keeps the secrets of a configuration that is in force, and no others. */
  keep({ secrets, snapshot }: Pick<Loaded, 'secrets' | 'snapshot'>): void {
    const texts = new Map(snapshot.texts);
    this.#texts.clear();
    for (const file of secrets) {
      const { text } = texts.get(file) ?? {};
      if (text !== undefined) this.#texts.set(file, text);
    }
  }

  async text(file: string): Promise<TextOrFault> {
    const found = await disk.text(file);
    const before = this.#texts.get(file);
    if (before === undefined) return found;
    if (found.text !== undefined && secretIn(found.text) !== '') {
      this.#stale.delete(file);
      return found;
    }
    this.#stale.set(file, `${file} ${found.fault ?? 'is empty'}: its last value is still in force`);
    return { text: before };
  }

  /** The secrets that have their last good text, in words. */
  stale(): readonly string[] {
    return [...this.#stale].filter(([file]) => this.#texts.has(file)).map(([, words]) => words);
  }
}
