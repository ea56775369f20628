import { LRUCache } from 'lru-cache';
import type { Adapter, AdapterFactory, AdapterPayload } from 'oidc-provider';

/** Registration is open to every client. A flood of registrations may evict other clients, never sessions or tokens. */
const maxRecordsPerModel = 10_000;

/**
 * Stores the data of oidc-provider, each model in its own bounded memory, until the process ends. oidc-provider's own
 * memory adapter prints a warning at every start.
 */
export function createMemoryAdapter(): AdapterFactory {
  return (model) => new MemoryAdapter(model);
}

class MemoryAdapter implements Adapter {
  readonly #records = new LRUCache<string, AdapterPayload>({ max: maxRecordsPerModel });
  readonly #idsByUid = new LRUCache<string, string>({ max: maxRecordsPerModel });
  readonly #model: string;

  constructor(model: string) {
    this.#model = model;
  }

  /** @param expiresIn - seconds; without it, the entry does not expire. */
  async upsert(id: string, payload: AdapterPayload, expiresIn?: number): Promise<void> {
    const options = expiresIn ? { ttl: expiresIn * 1000 } : {};
    this.#records.set(id, payload, options);
    if (this.#model === 'Session' && payload.uid) this.#idsByUid.set(payload.uid, id, options);
  }

  async find(id: string): Promise<AdapterPayload | undefined> {
    return this.#records.get(id);
  }

  async findByUid(uid: string): Promise<AdapterPayload | undefined> {
    const id = this.#idsByUid.get(uid);
    return id === undefined ? undefined : this.#records.get(id);
  }

  /** Used only by the device flow, which is disabled. */
  async findByUserCode(): Promise<undefined> {
    return undefined;
  }

  async consume(id: string): Promise<void> {
    const payload = this.#records.get(id);
    if (payload) payload.consumed = Math.floor(Date.now() / 1000);
  }

  async destroy(id: string): Promise<void> {
    this.#records.delete(id);
  }

  async revokeByGrantId(grantId: string): Promise<void> {
    for (const [id, payload] of this.#records.entries()) {
      if (payload.grantId === grantId) this.#records.delete(id);
    }
  }
}
