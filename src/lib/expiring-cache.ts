import { LRUCache } from 'lru-cache';
import type { Clock } from './clock.ts';

/** A bounded store whose entries end by themselves; the least recently used goes first when it is full. */
export interface ExpiringCache<Value> {
  get(key: string): Value | undefined;
  /** Keeps `value` until `expiresAt` (ms since the epoch); a moment that has passed keeps nothing. */
  set(key: string, value: Value, expiresAt: number): void;
  delete(key: string): void;
}

/** Creates a cache of at most `max` entries that reads time from `clock`, at each look: an entry never outlives its moment. */
export function createExpiringCache<Value extends object>(max: number, clock: Clock): ExpiringCache<Value> {
  // From the first entry on: room for all of them is taken at once, and many a cache never has one.
  let entries: LRUCache<string, { readonly value: Value; readonly expiresAt: number }> | undefined;
  return {
    get(key) {
      const entry = entries?.get(key);
      if (entry === undefined) return undefined;
      if (clock() < entry.expiresAt) return entry.value;
      entries?.delete(key);
      return undefined;
    },
    set(key, value, expiresAt) {
      if (clock() >= expiresAt) return;
      entries ??= new LRUCache({ max });
      entries.set(key, { value, expiresAt });
    },
    delete(key) {
      entries?.delete(key);
    },
  };
}
