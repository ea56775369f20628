import { setImmediate } from 'node:timers/promises';
import type { JWTVerifyGetKey } from 'jose';
import type { IssuerKeys } from '../../src/tokens/jwt.ts';
import { KeySource } from '../../src/tokens/keys.ts';
import type { AuthorizationServerClient, ServerAnswer } from '../../src/ports/authorization-server-client.ts';
import { createKey } from '../support/issuer.ts';

/** The issuer of the keys. */
export const issuer = 'https://as.example/tenant';
/** A key as the issuer publishes it. */
export const one = (await createKey('k1', 'ES256')).publicJwk;
/** Another key. */
export const two = (await createKey('k2', 'ES256')).publicJwk;
/** The error while the authorization server is unavailable. */
export const away = { reason: 'authorization_server.unavailable' };

/** Keys that never change. */
export function fixedKeys(find: JWTVerifyGetKey): IssuerKeys {
  return { find, renew: () => Promise.resolve(false) };
}

/** Settings of the key source. */
interface Settings {
  readonly staleMs?: number;
  readonly random?: number;
  /** The configured URL of the keys. Null: only the metadata names it. */
  readonly configured?: string | null;
  readonly metadata?: string;
  /** A JWK Set of a file. */
  readonly keySet?: object;
}

/** A key source with a fake authorization server, which publishes {@link one} at first, and a clock. */
export class KeyWorld {
  readonly keys: KeySource;
  now = 1_800_000_000_000;
  /** The fetches, each `operation URL`. */
  readonly asked: string[] = [];
  /** The answer to the next fetch; an Error: no answer. */
  published: Partial<ServerAnswer> | Error = { status: 200, body: { keys: [one] } };

  constructor({
    staleMs = 0,
    random = 0.5,
    configured = `${issuer}/jwks?key=secret`,
    metadata,
    keySet,
  }: Settings = {}) {
    const client = {
      server: { name: 'main', issuer, jwt: configured === null ? undefined : { jwksUri: configured, keySet }, staleMs },
      metadata: () => Promise.resolve({ jwksUri: metadata }),
      get: async (operation: string, url: string) => {
        this.asked.push(`${operation} ${url}`);
        await setImmediate();
        if (this.published instanceof Error) throw this.published;
        return this.published;
      },
    } as unknown as AuthorizationServerClient;
    this.keys = new KeySource(
      client,
      () => this.now,
      () => random,
    );
  }

  publish(set: readonly object[], maxAgeMs?: number): void {
    this.published = { status: 200, body: { keys: set }, ...(maxAgeMs !== undefined && { maxAgeMs }) };
  }

  goAway(): void {
    this.published = Object.assign(new Error('no answer'), away);
  }

  /** Finds a key by `kid`; null: without one. */
  async find(kid: string | null = 'k1', alg = 'ES256'): Promise<unknown> {
    return this.keys.find({ alg, ...(kid !== null && { kid }) }, {} as never);
  }

  /** The number of fetches, once those in flight have ended. */
  async fetches(): Promise<number> {
    for (let turn = 0; turn < 3; turn += 1) await setImmediate();
    return this.asked.length;
  }
}
