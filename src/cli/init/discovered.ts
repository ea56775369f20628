import { publishedKeys } from '../../pipeline/authenticate/keys.ts';
import { createServerClient } from '../../authorization-server/client.ts';
import { keyAlgorithms, type PublicKey } from '../../authorization-server/key-algorithms.ts';
import { signatureAlgorithms } from '../../config/keys.ts';
import type { AuthorizationServer, ServerMetadata } from '../../model/authorization-server.ts';

/** What an authorization server says of itself, RFC 8414. */
export interface Discovered {
  readonly issuer: string;
  /** The signature algorithms of its keys; empty: it publishes none. */
  readonly algorithms: readonly string[];
  /** Undefined: its opaque tokens cannot be introspected. */
  readonly introspectionEndpoint: string | undefined;
  /** `scopes_supported`; undefined: it does not say. */
  readonly scopes: readonly string[] | undefined;
}

/**
 * Asks the authorization server `issuer` for its metadata and keys, by the code that `serve` uses.
 *
 * @param label Begins the messages.
 * @throws {Denial} if it cannot be reached, or its metadata name another issuer or nothing by which tokens can be
 *   verified.
 */
export async function discovered(issuer: string, label: string): Promise<Discovered> {
  const client = createServerClient(serverAt(issuer, label), () => {}, Date.now);
  try {
    const metadata = await client.metadata();
    const { introspectionEndpoint, jwksUri, document } = metadata;
    const algorithms =
      jwksUri === undefined ? [] : algorithmsOf((await publishedKeys(client)).set.jwks().keys, metadata);
    return { issuer, algorithms, introspectionEndpoint, scopes: texts(document['scopes_supported']) };
  } finally {
    client.close();
  }
}

/** The settings of a server of which only the issuer is known. */
function serverAt(issuer: string, name: string): AuthorizationServer {
  return {
    name,
    issuer,
    backchannel: issuer,
    jwt: { algorithms: [], types: undefined, jwksUri: undefined },
    introspection: undefined,
    clockToleranceMs: 0,
    timeoutMs: 10_000,
    staleMs: 0,
  };
}

/** One algorithm for each signing key. A key for RSA need not name its own: the metadata then do, for ID tokens. */
function algorithmsOf(keys: readonly PublicKey[], { document }: ServerMetadata): readonly string[] {
  const forIdTokens = new Set(texts(document['id_token_signing_alg_values_supported']));
  const found = new Set(
    keys.flatMap((key) => {
      const possible = keyAlgorithms(key);
      const named = possible.filter((each) => forIdTokens.has(each));
      return named.length > 0 ? named : possible.slice(0, 1);
    }),
  );
  return signatureAlgorithms.filter((each) => found.has(each));
}

function texts(value: unknown): readonly string[] | undefined {
  return Array.isArray(value) ? value.filter((each) => typeof each === 'string') : undefined;
}
