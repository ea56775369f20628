/**
 * The caller that an access token names, for commands: by the code that serves requests, but without a request.
 *
 * @module
 */

import { randomUUID } from 'node:crypto';
import { type Authentication, createAuthenticators } from '../../tokens/authenticator.ts';
import { createServerClient } from '../../tokens/servers/client.ts';
import { OpenCapabilities } from '../open-capabilities.ts';
import { credentialSource } from '../../core/gateway/forward/credential.ts';
import { createIdentityHeaders } from '../../core/gateway/forward/identity-headers.ts';
import type { ProcessParts, RouteParts } from '../../capabilities/capability.ts';
import { unlimitedFailures } from '../../tokens/failures.ts';
import type { AuthorizationServerClient } from '../../ports/authorization-server-client.ts';
import type { Config } from '../../ports/config.ts';
import type { AccessToken, PresentedToken } from '../../core/model/grant.ts';
import { noMethod } from '../../core/model/mcp.ts';
import type { Attempt } from '../../core/model/policy.ts';
import type { Principal } from '../../core/model/principal.ts';
import type { Route } from '../../core/model/route.ts';

/**
 * Validates a token as `route` does: fetches keys, and introspects an opaque token. Without a request there is no proof
 * of possession, so that a token that is bound to a key is accepted without one.
 *
 * @throws {Denial} as the route would refuse it.
 */
export async function callerOf(token: string, route: Route, config: Config): Promise<Principal> {
  return withServers(config, async (clients) =>
    (await authenticationOn(route, config, clients)).revalidate(presented(token)),
  );
}

/**
 * The header fields by which `route` tells its upstream of a caller: the identity headers, `Authorization` as
 * `upstream.token` says, and the gateway's own fields.
 *
 * @throws {Denial} as the route would refuse the token, or the authorization server its exchange.
 */
export async function callerFields(token: string, route: Route, config: Config): Promise<Headers> {
  return withServers(config, async (clients) => {
    const authentication = await authenticationOn(route, config, clients);
    const held = presented(token);
    const principal = await authentication.revalidate(held);
    const revalidate: RouteParts['revalidate'] = (each) => authentication.revalidate(each);
    // Without `session_key`, no upstream can verify what this process signs.
    const secret = config.sessionKey ?? randomUUID();
    const capabilities = new OpenCapabilities(quiet);
    await capabilities.prepare(config);
    const onRoute = capabilities
      .open({ config, clients, secret })
      .map((each) => each.of(route, { revalidate, later: () => [], stateOf: () => '' }));
    const states = onRoute.flatMap((each) => each.states ?? []);
    const decision = { plan: route.policy?.decide(principal, listing).plan };
    const credential = await credentialSource(route, onRoute).obtain({ principal, decision }, held);
    const fields: string[] = credential === undefined ? [] : ['authorization', credential];
    createIdentityHeaders(route, states).addTo(fields, principal, randomUUID());
    route.upstream.ownFields?.addTo(fields, principal);
    const headers = new Headers();
    for (let i = 0; i < fields.length; i += 2) headers.set(fields[i] as string, fields[i + 1] as string);
    return headers;
  });
}

/** A command counts and logs nothing. */
const quiet: ProcessParts = {
  clock: Date.now,
  events: { returned() {}, tokenLookup() {} },
  log() {},
  answers: undefined,
  store: () => undefined,
  replays: { firstSeen: () => false },
  showPage: async () => {},
  meters: { add() {}, set() {} },
  share() {},
};

/** Commands open a session at an upstream and read lists, for which the scope of the route suffices. */
const listing: Attempt = { kind: 'mcp', method: noMethod, targets: [], arguments: undefined };

function presented(token: string): PresentedToken {
  return { scheme: 'bearer', value: token as AccessToken };
}

type Clients = ReadonlyMap<string, AuthorizationServerClient>;

async function withServers<Result>(config: Config, use: (clients: Clients) => Promise<Result>): Promise<Result> {
  const clients = new Map(
    [...config.authorizationServers].map(([name, server]) => [name, createServerClient(server, () => {}, Date.now)]),
  );
  try {
    return await use(clients);
  } finally {
    for (const client of clients.values()) client.close();
  }
}

async function authenticationOn(route: Route, config: Config, clients: Clients): Promise<Authentication> {
  const authenticators = createAuthenticators(() => {}, Date.now);
  await authenticators.prepare(config.authorizationServers.values());
  return authenticators(clients, config.scopeHierarchy, unlimitedFailures)(route, unproved);
}

const unproved = (principal: Principal): Principal => principal;
