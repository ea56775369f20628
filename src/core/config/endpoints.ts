/**
 * What sections share that define an endpoint of the gateway itself, such as the API for approvers.
 *
 * @module
 */

import { isLoopbackUrl } from '../lib/ip-address.ts';
import { quoted } from '../lib/wording.ts';
import type { AuthorizationServer } from '../model/authorization-server.ts';
import type { TokenForm } from '../model/principal.ts';
import type { Route } from '../model/route.ts';
import type { Endpoint } from '../model/endpoint.ts';
import type { Field } from './field.ts';
import type { Path } from './problems.ts';
import type { Violation } from './schema.ts';

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

/** The warning about the issuer of the section at `path`, if a party on the way could replace its keys. */
export function insecureIssuer(path: Path, issuer: string): readonly Violation[] {
  if (!issuer.startsWith('http:') || isLoopbackUrl(issuer)) return [];
  const risk = 'is http and not on loopback: a party on the way can replace its keys; use https';
  return [{ path: [...path, 'issuer'], part: 'value', message: `${quoted(issuer)} ${risk}` }];
}
