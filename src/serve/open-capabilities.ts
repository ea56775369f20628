import { capabilities } from '../capabilities/all.ts';
import type { Answered } from '../capabilities/admin.ts';
import type { ConfigParts, InProcess, Opened, ProcessParts } from '../capabilities/capability.ts';
import type { Principal } from '../core/model/principal.ts';

/** The parts of a process, but for `share`, which says whose news they are. */
interface OpenParts extends Omit<ProcessParts, 'share'> {
  readonly share: (capability: string, news: unknown) => void;
}

/** The capabilities of one process. */
export class OpenCapabilities {
  readonly #byName: ReadonlyMap<string, InProcess>;

  constructor({ share, ...parts }: OpenParts) {
    this.#byName = new Map(
      capabilities.flatMap(({ name, openProcess }) => {
        const opened = openProcess?.({ ...parts, share: (news) => share(name, news) });
        return opened === undefined ? [] : [[name, opened] as const];
      }),
    );
  }

  /** Loads the code that a configuration needs. */
  async prepare(config: ConfigParts['config']): Promise<void> {
    await Promise.all([...this.#byName.values()].map(async (each) => each.prepare?.(config)));
  }

  /** Opens each under one configuration, in the order of their gates. */
  open(parts: ConfigParts): readonly Opened[] {
    return [...this.#byName.values()].map((each) => each.open(parts));
  }

  /** Drops what was made from the tokens of these callers. */
  drop(isMeant: (caller: Principal) => boolean): void {
    for (const each of this.#byName.values()) each.drop?.(isMeant);
  }

  /** Takes what another process shared. */
  adopt(capability: string, news: unknown): void {
    this.#byName.get(capability)?.adopt?.(news);
  }

  /** What this process shared and still holds, for a process that begins. */
  news(): readonly (readonly [capability: string, news: unknown])[] {
    return [...this.#byName].flatMap(([name, each]) => (each.news?.() ?? []).map((news) => [name, news] as const));
  }

  /** Their members of the state of the process. */
  state(): object {
    return Object.assign({}, ...[...this.#byName.values()].map((each) => each.state?.()));
  }

  /** What they answer the admin listener. */
  answers(): readonly Answered[] {
    return [...this.#byName.values()].flatMap(({ answers = [] }) => answers);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#byName.values()].map(async (each) => each.close?.()));
  }
}
