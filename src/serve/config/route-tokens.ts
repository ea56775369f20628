import type { AuthorizationServer } from '../../core/model/authorization-server.ts';
import type { TokenForm } from '../../core/model/principal.ts';
import { supportedForms } from '../../capabilities/own-endpoint.ts';
import type { RouteKeys } from '../../../schema/validators.js';
import type { Field } from '../../core/config/field.ts';

/** `tokens` of a route: which forms its servers can validate, unless it names them. */
export function readTokens(
  field: Field<RouteKeys['tokens']>,
  servers: readonly AuthorizationServer[],
): ReadonlySet<TokenForm> {
  const supported = supportedForms(servers);
  if (!field.present) return supported;
  for (const item of field.items()) {
    // RFC 7662 §2.1: a server without `jwt` can introspect JWTs too, but only if the route lists that form.
    if (item.value() === 'opaque' && servers.length > 0 && !supported.has('opaque')) {
      item.addProblem(`${item.quoted()} needs introspection in an authorization server that this route trusts`);
    }
  }
  return new Set(field.value());
}

/**
 * Requires that each opaque token on a route belongs to one server: a server that receives the tokens of another can
 * use them. The route may set `opaque_tokens: shown_to_all` instead; even then no prefix may begin with another.
 *
 * @param route The route's own field.
 */
export function requireOwners(
  route: Field<RouteKeys>,
  forms: ReadonlySet<TokenForm>,
  servers: readonly AuthorizationServer[],
): void {
  const choice = route.get('opaque_tokens').value();
  const introspecting = servers.filter(({ introspection }) => introspection !== undefined);
  if (!forms.has('opaque') || introspecting.length < 2) return;
  const trusted = route.get('authorization_servers');
  const unmarked = introspecting.filter(({ introspection }) => introspection?.prefix === undefined);
  if (choice === 'by_prefix' && unmarked.length > 0) {
    trusted.addProblem(
      `${listed(introspecting)} would receive the opaque tokens of each other on route ` +
        `${route.get('name').quoted()}: ` +
        `set introspection.prefix of ${listed(unmarked)}, or opaque_tokens: shown_to_all on the route`,
    );
  }
  for (const [index, server] of introspecting.entries()) {
    for (const other of introspecting.slice(0, index)) if (overlap(server, other)) addOverlap(trusted, other, server);
  }
}

function overlap(one: AuthorizationServer, other: AuthorizationServer): boolean {
  const [short = '', long = ''] = [prefixOf(one), prefixOf(other)].toSorted((a, b) => a.length - b.length);
  return short !== '' && long.startsWith(short);
}

function addOverlap(trusted: Field, one: AuthorizationServer, other: AuthorizationServer): void {
  trusted.addProblem(
    `introspection.prefix of ${one.name} (${prefixOf(one)}) and of ${other.name} (${prefixOf(other)}) overlap: ` +
      'neither may begin with the other',
  );
}

function prefixOf({ introspection }: AuthorizationServer): string {
  return introspection?.prefix ?? '';
}

function listed(servers: readonly AuthorizationServer[]): string {
  return servers.map(({ name }) => name).join(' and ');
}
