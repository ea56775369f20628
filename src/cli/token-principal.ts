import { text } from 'node:stream/consumers';
import { createAuthenticators } from '../authenticate/authenticator.ts';
import { createServerClient } from '../authorization-server/client.ts';
import { unlimitedFailures } from '../limit/failures.ts';
import type { Config } from '../model/config.ts';
import type { AccessToken } from '../model/grant.ts';
import type { Principal } from '../model/principal.ts';
import type { Route } from '../model/route.ts';
import { UsageError } from './usage-error.ts';

/** Nobody presents the token, so nobody proves to have what it is bound to. */
const unproved = (principal: Principal): Principal => principal;

/**
 * Whose token it is, by the validation that serves: keys are fetched, an opaque token is asked about.
 *
 * @param token `-`: read from stdin, so that it is in no list of processes and no shell history.
 * @throws {Denial} as the route would refuse it.
 */
export async function tokenPrincipal(route: Route, config: Config, token: string): Promise<Principal> {
  if (route.public) throw new UsageError(`${route.name} is public: it looks at no token`);
  const value = (token === '-' ? await text(process.stdin) : token).trim();
  const clients = new Map(
    [...config.authorizationServers].map(([name, server]) => [name, createServerClient(server, () => {}, Date.now)]),
  );
  try {
    const authentication = createAuthenticators(() => {}, Date.now)(clients, config.scopeHierarchy, unlimitedFailures)(
      route,
      unproved,
    );
    return await authentication.revalidate({ scheme: 'bearer', value: value as AccessToken });
  } finally {
    for (const client of clients.values()) client.close();
  }
}
