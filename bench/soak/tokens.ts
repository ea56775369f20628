import { setTimeout as wait } from 'node:timers/promises';
import { demoApiClient, obtainToken, type OAuthClient } from '../../demo/obtain-token.ts';
import { createKey, type Issuer } from '../../test/support/issuer.ts';

/** Short-lived access tokens, which are renewed in time. */
export interface Tokens {
  /** A JWT for the API. */
  jwt(user: User): string;
  /** An opaque token for the API. */
  opaque(user: User): string;
  /** An opaque token for an MCP server, by its resource. */
  mcp(user: User, resource: string): string;
  /** An expired token, beyond the clock tolerance of the gateway. */
  expired(): string;
  /** Publishes a new key, waits until the gateway can know it, and then signs with it. */
  rotateKeys(): Promise<void>;
  /** Gets a token with more scope, as a client does after a challenge. */
  stepUp(user: User, resource: string, scope: string): Promise<string>;
  close(): Promise<void>;
}

/** The users of the clients. */
export type User = 'alice' | 'bob';
export const users: readonly User[] = ['alice', 'bob'];

/** The issuers of the tokens and their audiences. */
interface Sources {
  /** Issues opaque tokens. */
  readonly issuer: string;
  /** Signs JWTs. */
  readonly signer: Issuer;
  readonly audience: string;
  readonly mcpResources: readonly string[];
  readonly lifetimeSeconds: number;
}

/** Longer than the refresh window of the gateway for unknown keys. */
const PUBLISHED_BEFORE_MS = 6_000;
/** Time after `exp`; the clock tolerance of the gateway is five seconds. */
const OVER_MS = 6_000;
/** The number of expired or expiring tokens to keep. */
const MANY = 20;

/** Gets the first tokens, and new ones after two thirds of their lifetime. */
export async function createTokens(sources: Sources): Promise<Tokens> {
  const { issuer, signer, audience, mcpResources, lifetimeSeconds } = sources;
  const agent: OAuthClient = demoApiClient;
  const current = new Map<string, string>();
  const over: { token: string; at: number }[] = [];
  let key = signer.key;
  let keysMade = 1;

  async function opaqueFor(user: User, resource: string, scope = 'read'): Promise<string> {
    return (await obtainToken({ issuer, client: agent, scope, resource, user })).accessToken;
  }

  async function renew(): Promise<void> {
    // An expired token from the start.
    const exp = Math.floor(Date.now() / 1000) - OVER_MS / 1000;
    over.push({ token: await signer.sign({ aud: audience, scope: 'read', exp }, { key }), at: 0 });
    for (const user of users) {
      const claims = { sub: user, aud: audience, scope: 'read', exp: Math.floor(Date.now() / 1000) + lifetimeSeconds };
      keep(`jwt ${user}`, await signer.sign(claims, { key }));
      for (const resource of [audience, ...mcpResources]) keep(`${resource} ${user}`, await opaqueFor(user, resource));
    }
  }

  function keep(name: string, token: string): void {
    const before = current.get(name);
    if (before !== undefined) over.push({ token: before, at: Date.now() + lifetimeSeconds * 1000 + OVER_MS });
    if (over.length > MANY) over.shift();
    current.set(name, token);
  }

  function token(name: string): string {
    const found = current.get(name);
    if (found === undefined) throw new Error(`no token ${name}`);
    return found;
  }

  await renew();
  let renewing: Promise<void> = Promise.resolve();
  const renewSoon = (): Promise<void> => (renewing = renewing.then(renew));
  const timer = setInterval(() => void renewSoon(), (lifetimeSeconds * 1000 * 2) / 3);
  return {
    jwt: (user) => token(`jwt ${user}`),
    opaque: (user) => token(`${audience} ${user}`),
    mcp: (user, resource) => token(`${resource} ${user}`),
    expired() {
      const found = over.filter(({ at }) => at < Date.now());
      return found[Math.floor(Math.random() * found.length)]?.token ?? '';
    },
    async rotateKeys() {
      keysMade += 1;
      const next = await createKey(`k${keysMade}`);
      signer.keys = [key.publicJwk, next.publicJwk];
      await wait(PUBLISHED_BEFORE_MS);
      key = next;
      await renewSoon();
    },
    stepUp: (user, resource, scope) => opaqueFor(user, resource, scope),
    async close() {
      clearInterval(timer);
      await renewing;
    },
  };
}
