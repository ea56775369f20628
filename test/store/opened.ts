import { connectStore, type StoreConnection } from '../../src/store/connection.ts';
import { startRedis, type Redis } from '../support/redis.ts';
import type { Told } from './observer.ts';

/** How to close what a test has opened. */
export const opened: (() => Promise<void>)[] = [];

/** Closes it, the last first. Each file calls it after each of its tests: this one is loaded once for all of them. */
export async function closeOpened(): Promise<void> {
  for (const close of opened.splice(0).toReversed()) await close();
}

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
