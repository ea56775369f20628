import { setImmediate } from 'node:timers/promises';
import { KeySource } from '../../src/pipeline/authenticate/keys.ts';
import type { AuthorizationServerClient, ServerAnswer } from '../../src/model/authorization-server.ts';
import { createKey } from '../support/issuer.ts';

/** The issuer of the keys. */
export const issuer = 'https://as.example/tenant';
/** A key as the issuer publishes it. */
export const one = (await createKey('k1', 'ES256')).publicJwk;
/** Another key. */
export const two = (await createKey('k2', 'ES256')).publicJwk;
/** The error while the authorization server is unavailable. */
export const away = { reason: 'authorization_server.unavailable' };

/** Settings of the key source. */
interface Settings {
  readonly staleMs?: number;
  readonly random?: number;
  /** The configured URL of the keys. Null: only the metadata names it. */
  readonly configured?: string | null;
  readonly metadata?: string;
}

/** A key source with a fake authorization server and a clock, both of which the test sets. */
export interface KeyWorld {
  readonly keys: KeySource;
  now: number;
  /** The fetches, each `operation URL`. */
  readonly asked: readonly string[];
  /** The answer to the next fetch; an Error: no answer. */
  published: Partial<ServerAnswer> | Error;
  publish(set: readonly object[], maxAgeMs?: number): void;
  goAway(): void;
  /** Finds a key by `kid`; null: without one. */
  find(kid?: string | null, alg?: string): Promise<unknown>;
  /** The number of fetches, once those in flight have ended. */
  fetches(): Promise<number>;
}

/** Creates one that publishes {@link one}. */
export function createKeyWorld(settings: Settings = {}): KeyWorld {
  const { staleMs = 0, random = 0.5, configured = `${issuer}/jwks?key=secret`, metadata } = settings;
  const asked: string[] = [];
  const client = {
    server: { name: 'main', issuer, jwt: configured === null ? undefined : { jwksUri: configured }, staleMs },
    metadata: () => Promise.resolve({ jwksUri: metadata }),
    async get(operation: string, url: string) {
      asked.push(`${operation} ${url}`);
      await setImmediate();
      if (world.published instanceof Error) throw world.published;
      return world.published;
    },
  } as unknown as AuthorizationServerClient;
  const clock = (): number => world.now;
  const keys = new KeySource(client, clock, () => random);
  const world: KeyWorld = {
    keys,
    now: 1_800_000_000_000,
    asked,
    published: { status: 200, body: { keys: [one] } },
    publish(set, maxAgeMs) {
      world.published = { status: 200, body: { keys: set }, ...(maxAgeMs !== undefined && { maxAgeMs }) };
    },
    goAway() {
      world.published = Object.assign(new Error('no answer'), away);
    },
    find: async (kid = 'k1', alg = 'ES256') => keys.find({ alg, ...(kid !== null && { kid }) }, {} as never),
    async fetches() {
      for (let turn = 0; turn < 3; turn += 1) await setImmediate();
      return asked.length;
    },
  };
  return world;
}
