import type { AuthorizationServer } from '../model/authorization-server.ts';
import type { TokenForm } from '../model/principal.ts';
import type { Field } from './field.ts';
import { oneOf } from './values.ts';

/**
 * Requires that each opaque token on a route belongs to one server: a server that sees the tokens of another can use them.
 * The route may say `opaque_tokens: shown_to_all` instead; even then no prefix begins with another.
 *
 * @param route The route's own field.
 */
export function requireOwners(
  route: Field,
  forms: ReadonlySet<TokenForm>,
  servers: readonly AuthorizationServer[],
): void {
  const choice = route.get('opaque_tokens').read(oneOf('by_prefix', 'shown_to_all')) ?? 'by_prefix';
  const asked = servers.filter(({ introspection }) => introspection !== undefined);
  if (!forms.has('opaque') || asked.length < 2) return;
  const trusted = route.get('authorization_servers');
  const unmarked = asked.filter(({ introspection }) => introspection?.prefix === undefined);
  if (choice === 'by_prefix' && unmarked.length > 0) {
    trusted.refuse(
      `route ${route.get('name').shown()} would show its opaque tokens to ${listed(asked)}, which could use those of ` +
        `each other: set introspection.prefix of ${listed(unmarked)}, or opaque_tokens: shown_to_all on the route`,
    );
  }
  for (const [index, server] of asked.entries()) {
    for (const other of asked.slice(0, index)) if (overlap(server, other)) refuseOverlap(trusted, other, server);
  }
}

function overlap(one: AuthorizationServer, other: AuthorizationServer): boolean {
  const [short = '', long = ''] = [prefixOf(one), prefixOf(other)].toSorted((a, b) => a.length - b.length);
  return short !== '' && long.startsWith(short);
}

function refuseOverlap(trusted: Field, one: AuthorizationServer, other: AuthorizationServer): void {
  trusted.refuse(
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
