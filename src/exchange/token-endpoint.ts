import type { AuthorizationServerClient } from '../model/authorization-server.ts';
import { Denial } from '../model/denial.ts';
import type { TokenExchange } from '../model/route.ts';

/**
 * Where tokens are exchanged: as configured, or as the server's metadata says (RFC 8414 §2).
 *
 * @throws {Denial} `exchange.refused` where neither says it, `authorization_server.unavailable` without metadata.
 */
export async function tokenEndpoint(exchange: TokenExchange, client: AuthorizationServerClient): Promise<string> {
  const endpoint = exchange.endpoint ?? (await client.metadata()).tokenEndpoint;
  if (endpoint !== undefined) return endpoint;
  throw new Denial('exchange.refused', 'the metadata has no token_endpoint; set exchange.endpoint');
}
