import { afterEach } from 'vitest';
import { connectStore, type StoreConnection } from '../../src/store/connection.ts';
import { startRedis, type Redis } from '../support/redis.ts';
import type { Told } from './observer.ts';

/** What a test has opened, closed after it, the last first. */
export const opened: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of opened.splice(0).toReversed()) await close();
});

/** A store with options of its own. */
export async function redisWith(...options: string[]): Promise<Redis> {
  const redis = await startRedis(options);
  opened.push(() => redis.close());
  return redis;
}

/** A connection to the store at `url`. */
export function connected(url: string, told: Told): StoreConnection {
  const connection = connectStore(url, told.observer, told.log);
  opened.push(() => connection.close());
  return connection;
}
