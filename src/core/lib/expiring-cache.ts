import { LRUCache } from 'lru-cache';
import type { Clock } from './clock.ts';

/** A bounded cache with an expiry for each entry; when it is full, the least recently used entry is evicted. */
export interface ExpiringCache<Value> {
  get(key: string): Value | undefined;
  /**
   * Keeps `value` until `expiresAt` (ms since the epoch), in place of what the cache had for the key. If that time has
   * passed, it is not kept, and what was there before neither: it is no longer true.
   *
   * @param bytes The size of the value. One that is larger than the whole cache is not kept either.
   */
  set(key: string, value: Value, expiresAt: number, bytes?: number): void;
  /** Returns whether there was an entry, also an expired one. */
  delete(key: string): boolean;
  /** Every entry, expired ones too. */
  entries(): Iterable<readonly [key: string, value: Value]>;
}

/**
 * Creates a cache of at most `max` entries, and of at most `maxBytes` together. `get` compares the clock with the
 * expiry, so that no entry is returned late.
 *
 * The TTL of lru-cache itself treats 0 as no TTL, and returns an entry at the very millisecond at which it expires.
 */
export function createExpiringCache<Value extends object>(
  max: number,
  clock: Clock,
  maxBytes = Infinity,
): ExpiringCache<Value> {
  const isSized = maxBytes !== Infinity;
  // Created with the first entry: LRUCache allocates room for all entries at once, and many caches stay empty.
  let entries: LRUCache<string, { readonly value: Value; readonly expiresAt: number }> | undefined;
  return {
    get(key) {
      const entry = entries?.get(key);
      if (entry === undefined) return undefined;
      if (clock() < entry.expiresAt) return entry.value;
      entries?.delete(key);
      return undefined;
    },
    set(key, value, expiresAt, bytes = 1) {
      if (clock() >= expiresAt || bytes > maxBytes) {
        entries?.delete(key);
        return;
      }
      entries ??= new LRUCache({ max, ...(isSized && { maxSize: maxBytes }) });
      entries.set(key, { value, expiresAt }, isSized ? { size: bytes } : {});
    },
    delete: (key) => entries?.delete(key) ?? false,
    *entries() {
      for (const [key, { value }] of entries?.entries() ?? []) yield [key, value];
    },
  };
}
