/** @module What sections share that define an endpoint of the gateway itself, such as the API for approvers. */

import { quoted } from '../core/lib/wording.ts';
import type { AuthorizationServer } from '../core/model/authorization-server.ts';
import type { TokenForm } from '../core/model/principal.ts';
import type { Route } from '../core/model/route.ts';
import type { Endpoint } from '../core/model/endpoint.ts';
import type { Field } from '../core/config/field.ts';

/** An endpoint that the gateway answers itself: its callers are authenticated as on any route. */
export function ownEndpoint(
  settings: Pick<Endpoint, 'name' | 'path' | 'methods' | 'authorizationServers' | 'audiences'> & Partial<Endpoint>,
): Endpoint {
  return {
    protocol: 'http',
    public: false,
    isOwn: true,
    resource: undefined,
    firstChallenge: 'none',
    scopePrefix: undefined,
    tokens: supportedForms(settings.authorizationServers),
    proofs: undefined,
    policy: undefined,
    rate: undefined,
    below: 'refuse',
    query: 'refuse',
    ...settings,
  };
}

/** The forms of tokens that one of the servers can validate. */
export function supportedForms(servers: readonly AuthorizationServer[]): ReadonlySet<TokenForm> {
  const forms = new Set<TokenForm>();
  if (servers.some(({ jwt }) => jwt !== undefined)) forms.add('jwt');
  if (servers.some(({ introspection }) => introspection !== undefined)) forms.add('opaque');
  return forms;
}

/** Reports an audience of an endpoint that a route has too. `risk`: what the callers of that route could then do. */
export function requireOwnAudience(
  field: Field,
  audience: string,
  { routes, risk }: { readonly routes: readonly Route[]; readonly risk: string },
): void {
  const other = routes.find(({ audiences }) => audiences.includes(audience));
  if (other === undefined) return;
  const shown = field.present ? field.quoted() : quoted(audience);
  const where = `${shown} is also an audience of route ${other.name}`;
  field.addProblem(`${where}: its callers could ${risk}; choose another one`);
}
