import { errors } from 'oidc-provider';
import type { Config } from '../ports/config.ts';
import { approvalSettings } from '../ports/approval-settings.ts';
import { FRONT_DOOR } from '../ports/front-door.ts';
import { APPROVAL_CLIENT } from './client-policy.ts';
import type { Endpoint } from '../core/model/endpoint.ts';
import { MAX_URL_LENGTH } from './url-pattern.ts';

/** The resources that the front door issues tokens for: those of the routes that trust it. */
export interface Resources {
  /**
   * The resource that an indicator names, in its only spelling, under which grants are kept. Throws `invalid_target`
   * for any other.
   */
  nameOf(indicator: string): string;
  /**
   * The `aud` of the resource that an indicator names, as the route wants it, for a client that may ask for it. Throws
   * `invalid_target`.
   */
  audienceOf(indicator: string, clientId: string): string;
  /** Whether an indicator names the API for approvers. */
  isForApprovers(indicator: string): boolean;
  /** The resource of a request without `resource`: that of the only MCP route. Throws `invalid_target` otherwise. */
  default(): string;
  /** The scopes of a request without `scope`: what the policy of the resource asks of every caller. */
  defaultScope(indicator: unknown): string;
}

interface NamedResource {
  readonly name: string;
  readonly audience: string;
  readonly route: Endpoint;
}

/** Collects the resources of `config`. */
export function createResources(
  config: Pick<Config, 'routes' | 'publicUrl'> & Partial<Pick<Config, 'slots' | 'frontDoor'>>,
): Resources {
  const { routes, frontDoor, publicUrl } = config;
  const approvals = approvalSettings.of(config);
  const all = approvals === undefined ? routes : [...routes, approvals.route];
  const trusting = all.filter(({ authorizationServers }) =>
    authorizationServers.some(({ name }) => name === FRONT_DOOR),
  );
  const named = trusting.flatMap((route): readonly NamedResource[] => [
    ...route.audiences.map((audience) => ({ name: audience, audience, route })),
    // RFC 8707 §2: clients send what the metadata of the resource says, its URL.
    { name: publicUrl + route.path, audience: route.audiences[0] ?? '', route },
  ]);
  const bySpelling = new Map<string, NamedResource>();
  for (const each of named) {
    const spelling = URL.parse(each.name)?.href ?? each.name;
    bySpelling.set(spelling, bySpelling.get(spelling) ?? each);
  }
  const byOrigin = resourcesOfOrigins(named.filter(({ route }) => route !== approvals?.route));
  const [only, ...others] = trusting.filter(({ protocol }) => protocol === 'mcp');
  const byDefault = others.length === 0 ? only && bySpelling.get(new URL(publicUrl + only.path).href) : undefined;

  function find(indicator: string): NamedResource {
    const url = indicator.length > MAX_URL_LENGTH ? null : URL.parse(indicator);
    const found = bySpelling.get(url?.href ?? indicator) ?? (url === null ? undefined : leniently(url));
    if (found === undefined || indicator.includes('#')) {
      throw new errors.InvalidTarget('resource is not one of this authorization server');
    }
    return found;
  }

  /**
   * Clients add the query of the URL that their user entered, or send the origin alone. Host, port, scheme and path
   * count as they are: an origin is never another one.
   */
  function leniently(url: URL): NamedResource | undefined {
    if (!/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '') return undefined;
    url.search = '';
    return bySpelling.get(url.href) ?? (url.pathname === '/' ? byOrigin.get(url.origin) : undefined);
  }

  /** A client of an agent could else approve its own calls, by a page that names only its ordinary scopes. */
  function mayAsk(clientId: string, { route }: NamedResource): boolean {
    if (route !== approvals?.route) return true;
    return clientId === APPROVAL_CLIENT || frontDoor?.clients.registered.get(clientId)?.mayApprove === true;
  }

  return {
    nameOf: (indicator) => find(indicator).name,
    audienceOf(indicator, clientId) {
      const found = find(indicator);
      if (mayAsk(clientId, found)) return found.audience;
      throw new errors.InvalidTarget('this client may not get tokens by which calls are approved');
    },
    isForApprovers: (indicator) => find(indicator).route === approvals?.route,
    default() {
      if (byDefault === undefined)
        throw new errors.InvalidTarget('resource is missing: name the one that the token is for');
      return byDefault.name;
    },
    defaultScope(indicator) {
      const { route } = (typeof indicator === 'string' ? bySpelling.get(indicator) : byDefault) ?? {};
      const scopes = route?.firstChallenge === 'supported' ? route.resource?.scopesSupported : route?.policy?.scope;
      return (scopes ?? []).join(' ');
    },
  };
}

/** The only resource of each origin; an origin with several has none. */
function resourcesOfOrigins(named: readonly NamedResource[]): ReadonlyMap<string, NamedResource> {
  const byOrigin = new Map<string, NamedResource>();
  const ambiguous = new Set<string>();
  for (const each of named) {
    const { protocol, origin } = URL.parse(each.name) ?? {};
    if (origin === undefined || (protocol !== 'https:' && protocol !== 'http:')) continue;
    const other = byOrigin.get(origin) ?? each;
    byOrigin.set(origin, other);
    if (other.route !== each.route) ambiguous.add(origin);
  }
  for (const origin of ambiguous) byOrigin.delete(origin);
  return byOrigin;
}
