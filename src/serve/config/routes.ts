import { join } from 'node:path';
import type { AuthorizationServer } from '../../core/model/authorization-server.ts';
import type { Policy } from '../../core/model/policy.ts';
import type { TokenForm } from '../../core/model/principal.ts';
import type { Route } from '../../core/model/route.ts';
import type { CallerRate, ResourceMetadata } from '../../core/model/endpoint.ts';
import { rootEndpoints } from '../../ports/config.ts';
import { serverIn } from '../../tokens/servers/settings.ts';
import { readCallerRate } from './sections.ts';
import { capabilities } from '../../capabilities/all.ts';
import type { ReadRoute, SlotEntry } from '../../capabilities/capability.ts';
import type { GatewayKeys, RouteKeys } from '../../../schema/validators.js';
import type { Field } from '../../core/config/field.ts';
import type { ReadPolicies } from '../../policy-files/policies.ts';
import { readTokens, requireOwners } from './route-tokens.ts';
import { isServedBelow } from '../../policy-files/served-requests.ts';
import { readUpstream } from './upstream.ts';
import { reject } from '../../core/config/values.ts';
import { didYouMean, quoted } from '../../core/lib/wording.ts';

/** The settings that keys of routes refer to. */
export interface Referents {
  readonly publicUrl: string;
  readonly servers: ReadonlyMap<string, AuthorizationServer>;
  readonly folder: ReadPolicies;
  /** The name of the folder of policies in messages. */
  readonly folderLabel: string;
  /** The issuer of the front door; undefined: there is none. */
  readonly frontDoorIssuer: string | undefined;
  /** The server of `oauth_endpoints_at_root`; undefined: none. */
  readonly endpointsAtRoot: AuthorizationServer | undefined;
  /** `limits.rate`, the default of routes. */
  readonly rate: CallerRate | undefined;
  /** What capabilities read of a route. */
  readonly slots: (field: Field<RouteKeys>, route: ReadRoute, index: number) => readonly SlotEntry[];
}

/** The name of the route of `root_resource`. A problem shows no name of another route. */
export function readRootResource(
  field: Field<GatewayKeys['root_resource']>,
  routes: readonly Route[],
): string | undefined {
  const resources = routes.filter(({ resource }) => resource !== undefined);
  return field.read((name) => {
    if (!resources.some((route) => route.name === name)) reject('is not the name of a route with a resource');
    if (!resources.some(({ path, name: other }) => path === '/' && other !== name)) return name;
    return reject('cannot be at the root: the route with the path / is there');
  });
}

/** `routes`, with names replaced by what they name. Problems are reported, and the result is then not used. */
export function readRoutes(field: Field<GatewayKeys['routes']>, referents: Referents): readonly Route[] {
  const routes = field.items().map((item, index) => readRoute(item, index, referents));
  const sameNames = earlierOf(routes.map(({ name }) => name));
  // Many upstreams and file systems take paths that differ only in case for one, and operators misread them.
  const samePaths = earlierOf(routes.map(({ path }) => path.toLowerCase()));
  for (const [index, item] of field.items().entries()) {
    const { path = '', protocol } = routes[index] ?? {};
    const sameName = sameNames[index];
    if (sameName !== undefined) {
      item.get('name').addProblem(`${item.get('name').quoted()} is also the name of routes[${sameName}]`);
    }
    const samePath = samePaths[index];
    if (samePath !== undefined) {
      const inCase = routes[samePath]?.path === path ? '' : ' but for upper and lower case';
      const remedy =
        protocol === 'http' && inCase === '' ? '; write one route, whose policy decides by method in requests' : '';
      item
        .get('path')
        .addProblem(`${item.get('path').quoted()} is also the path of routes[${samePath}]${inCase}${remedy}`);
    }
    if (referents.endpointsAtRoot !== undefined && rootEndpoints.has(path.toLowerCase())) {
      item
        .get('path')
        .addProblem(`${item.get('path').quoted()} is answered by oauth_endpoints_at_root: choose another path`);
    }
  }
  return routes;
}

/** For each text the index of the first one that is the same; undefined for the first, and for an empty text. */
function earlierOf(texts: readonly string[]): readonly (number | undefined)[] {
  const first = new Map(texts.map((text, index) => [text, index] as const).toReversed());
  return texts.map((text, index) => (text === '' || first.get(text) === index ? undefined : first.get(text)));
}

/**
 * The entries of `requests` that no route can meet: none of those with the policy serves such a path.
 *
 * @returns each as the policy and the name of the entry, and why.
 */
export function unreachableRequests(
  routes: readonly Route[],
): readonly { readonly policy: string; readonly name: string; readonly message: string }[] {
  const policies = new Set(routes.flatMap(({ policy }) => (policy?.listsRequests === true ? policy : [])));
  return [...policies].flatMap((policy) => {
    const own = routes.filter((route) => route.policy === policy);
    const paths = own.map(({ path }) => path);
    const others = routes.filter((route) => route.policy !== policy).map(({ path }) => path);
    const takesSlashes = own.some(({ encodedSlashes }) => encodedSlashes === 'pass');
    const flawOf = (name: string): string | undefined => {
      if (!isServedBelow(name, paths, others))
        return 'matches no path of the routes with this policy; a path is that of the whole request';
      if (takesSlashes || !/%2f/i.test(name)) return undefined;
      return 'has %2F, which no route with this policy takes: set encoded_slashes: pass there';
    };
    return policy.listed.flatMap(({ name }) => {
      const message = flawOf(name);
      return message === undefined ? [] : [{ policy: policy.name, name, message }];
    });
  });
}

function readRoute(field: Field<RouteKeys>, index: number, referents: Referents): Route {
  const open = field.get('public').value();
  const protocol = readProtocol(field.get('protocol'));
  requireEffect(field, open, protocol);
  const servers = open ? [] : trustedServers(field, referents.servers);
  requireOnePrefix(field.get('authorization_servers'), servers);
  const { name, path, keepaliveMs, revalidateMs, methods } = field.settings();
  const resource =
    !open && (protocol === 'mcp' || field.get('resource').present) ? readResource(field.get('resource')) : undefined;
  const tokens = open ? new Set<TokenForm>() : readTokens(field.get('tokens'), servers);
  requireOwners(field, tokens, servers);
  const upstream = readUpstream(field.get('upstream'), protocol);
  const policy = open ? undefined : readPolicy(field.get('policy'), protocol, referents);
  const route: ReadRoute = {
    name,
    path,
    protocol: protocol ?? 'http',
    methods: field.get('methods').present ? new Set(methods) : undefined,
    public: open,
    isOwn: false,
    isFrontDoor: open && referents.publicUrl + path === referents.frontDoorIssuer,
    resource,
    firstChallenge: open ? 'none' : readFirstChallenge(field.get('first_challenge'), protocol, resource),
    authorizationServers: servers,
    scopePrefix: servers[0]?.scopePrefix,
    audiences: open ? [] : readAudiences(field, protocol, referents.publicUrl + path),
    tokens,
    statesTokens: field.get('tokens').present,
    policy,
    upstream,
    keepaliveMs,
    revalidateMs,
    proofs: undefined,
    finalRefusals: field.get('refusals').get('final').value(),
    rate: field.get('rate').present ? readCallerRate(field.get('rate')) : referents.rate,
    // Policies decide only on the message of an MCP request.
    below: protocol === 'mcp' ? field.get('below').value() : 'pass',
    encodedSlashes: protocol === 'mcp' ? 'refuse' : field.get('encoded_slashes').value(),
    query: protocol === 'mcp' ? field.get('query').value() : 'pass',
    upgrade: undefined,
  };
  const slots = new Map(referents.slots(field, route, index));
  const ownFields = capabilities.map(({ ownFieldsOf }) => ownFieldsOf?.({ slots })).find((each) => each !== undefined);
  const upgrade = capabilities.map(({ upgradeOf }) => upgradeOf?.({ slots })).find((each) => each !== undefined);
  if (open) {
    return { ...route, upstream: { ...upstream, ownFields }, upgrade, slots: slots.size === 0 ? undefined : slots };
  }
  const statements = capabilities.flatMap(({ statementOf }) => statementOf?.({ slots }) ?? []);
  const proofs = capabilities.map(({ proofsOf }) => proofsOf?.({ slots })).find((each) => each !== undefined);
  return { ...route, upstream: { ...upstream, statements, ownFields }, proofs, upgrade, slots };
}

/** Undefined where the file has neither `http` nor `mcp`, so that no problem follows from that one. */
function readProtocol(field: Field<RouteKeys['protocol']>): Route['protocol'] | undefined {
  const protocol = field.value();
  return field.isFaulty() ? undefined : protocol;
}

/** Reports keys without effect on a route of this kind. On a public route, they would look like protection. */
function requireEffect(route: Field<RouteKeys>, isPublic: boolean, protocol: Route['protocol'] | undefined): void {
  const message = 'cannot be combined with public: true';
  const upstream = route.get('upstream');
  for (const [, field] of [...route.entries(), ...upstream.entries()]) {
    const { 'x-routes': routes, 'x-because': because = '' } = field.schema;
    if (isPublic && routes === 'protected') field.addProblem(message, 'key');
    if (protocol === 'http' && routes === 'mcp') field.addProblem(`applies only with protocol: mcp${because}`, 'key');
    if (protocol === 'mcp' && routes === 'http') field.addProblem(`applies only with protocol: http${because}`, 'key');
  }
  if (!isPublic) return;
  if (protocol === 'mcp') route.get('protocol').addProblem(`mcp ${message}: there is nothing to authorize`);
  const token = upstream.get('token');
  if (token.present && !['none', 'client_credentials'].includes(token.value()))
    token.addProblem(`${token.quoted()} ${message}`);
}

function trustedServers(
  field: Field<RouteKeys>,
  servers: ReadonlyMap<string, AuthorizationServer>,
): readonly AuthorizationServer[] {
  const trusted = field.get('authorization_servers');
  const names = [...servers.keys()];
  if (trusted.present) return trusted.list(serverIn(servers));
  if (names.length === 0)
    field.addProblem('needs an authorization server: define one in authorization_servers, or set public: true');
  if (names.length > 1)
    field.addProblem(`missing key: authorization_servers (several are defined: ${names.join(', ')})`);
  return [...servers.values()];
}

/** A challenge has one list of scopes, whichever server the client then chooses. */
function requireOnePrefix(
  field: Field<RouteKeys['authorization_servers']>,
  servers: readonly AuthorizationServer[],
): void {
  const [first, ...others] = servers;
  const other = others.find(({ scopePrefix }) => scopePrefix !== first?.scopePrefix);
  if (first === undefined || other === undefined) return;
  const shown = [first, other].map(({ name, scopePrefix }) => `${scopePrefix ?? 'none'} (${name})`);
  field.addProblem(`have different values of scope_prefix: ${shown.join(' and ')}; use one route for each`);
}

function readAudiences(
  field: Field<RouteKeys>,
  protocol: 'http' | 'mcp' | undefined,
  fallback: string,
): readonly string[] {
  const audience = field.get('audience');
  if (audience.present) return audience.value();
  if (protocol === 'http' && !field.get('public').isFaulty())
    field.addProblem('missing key: audience (only protocol: mcp has a default, public_url + path)');
  return [fallback];
}

function readPolicy(
  field: Field<string | undefined>,
  protocol: 'http' | 'mcp' | undefined,
  referents: Referents,
): Policy | undefined {
  const { folder, folderLabel } = referents;
  const policy = field.read(policyName);
  if (policy === undefined) return undefined;
  const file = join(folderLabel, `${field.source()}.yaml`);
  if (!folder.policies.has(policy)) {
    const misnamed = folder.misnamed.get(`${field.source()}.yaml`);
    const found =
      misnamed === undefined
        ? `; ${policiesBeside(field, policy, referents)}`
        : `, but ${join(folderLabel, misnamed)} does; rename it`;
    field.addProblem(`${file} does not exist${found}`);
  }
  // The gateway does not read what an http request calls, so that `tools` would allow everything.
  const only = folder.protocols.get(policy);
  if (protocol !== undefined && only !== undefined && only.protocol !== protocol) {
    field.addProblem(`${file} has ${only.key}, which needs protocol: ${only.protocol}`);
  }
  const found = folder.policies.get(policy);
  return found;
}

/** The name of a policy; its file has the name with `.yaml`. */
function policyName(text: string): string {
  const [, plain] = /^(?:.*\/)?([\w.-]+)\.ya?ml$/.exec(text) ?? [];
  return plain === undefined ? text : reject('is a file, not the name of a policy', `write ${quoted(plain)}`);
}

function policiesBeside(field: Field<string | undefined>, policy: string, { folder, folderLabel }: Referents): string {
  const names = [...folder.policies.keys()];
  if (names.length === 0) return `${folderLabel} has no policy`;
  // Of a placeholder's value nothing is shown, not even what it resembles.
  const near = field.source() === policy ? didYouMean(policy, names) : undefined;
  return `${near === undefined ? '' : `did you mean ${near}? `}there are: ${names.join(', ')}`;
}

/** By default, the 401 of an HTTP route names no scope, as in the examples of RFC 6750 §3.1. */
function readFirstChallenge(
  field: Field<RouteKeys['first_challenge']>,
  protocol: 'http' | 'mcp' | undefined,
  resource: ResourceMetadata | undefined,
): Route['firstChallenge'] {
  const choice = field.value();
  if (field.present && resource === undefined) field.addProblem('applies only to a route with resource', 'key');
  else if (choice === 'supported' && resource?.scopesSupported === undefined) {
    field.addProblem('supported needs resource.scopes_supported');
  }
  return protocol === 'mcp' || field.present ? choice : 'none';
}

function readResource(field: Field<RouteKeys['resource']>): ResourceMetadata {
  return { ...field.settings(), scopesSupported: field.get('scopes_supported').given()?.value() };
}
