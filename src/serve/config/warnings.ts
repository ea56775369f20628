import type { AuthorizationServer } from '../../core/model/authorization-server.ts';
import type { Config } from '../../ports/config.ts';
import { FRONT_DOOR, type IdentityProvider } from '../../ports/front-door.ts';
import type { Policy } from '../../core/model/policy.ts';
import { rulePath } from '../../core/policy/document.ts';
import { variablesIn } from '../../core/policy/pattern.ts';
import type { Route } from '../../core/model/route.ts';
import { stepUpScopes } from './step-up-scopes.ts';
import { expandScopes } from '../../ports/scope-hierarchy.ts';
import { didYouMean, quoted } from '../../core/lib/wording.ts';
import { capabilities } from '../../capabilities/all.ts';
import { isLoopbackUrl } from '../../core/lib/ip-address.ts';
import { insecureIssuer } from '../../tokens/servers/settings.ts';
import { claimPathMistake } from '../../policy-files/claim-path.ts';
import type { ReadPolicies } from '../../policy-files/policies.ts';
import type { Path, Problem } from '../../core/config/problems.ts';
import { isSecret, type Violation } from '../../core/config/schema.ts';
import { problemIn, type YamlFile } from '../../core/config/yaml-file.ts';

/** Shorter tokens can be guessed in spite of the rate limit of the admin listener. */
const ADMIN_TOKEN_CHARACTERS = 16;

interface Warning extends Violation {
  /** The policy that has it; absent: `gateway.yaml`. */
  readonly policy?: string;
}

type Judged = Omit<Config, 'warnings'>;

/**
 * The warnings of `check`, each by the key that it is about: a probable mistake in a valid configuration, and where it
 * is written.
 */
export const warnings: Readonly<
  Record<string, (config: Judged, placedScopes: ReadPolicies['placedScopes']) => readonly Warning[]>
> = {
  public_url: publicUrlFlaws,
  trusted_proxies: (config) => everyAddress(config, 'trusted_proxies', 'each client can choose its own address'),
  certificate_proxies: (config) => everyAddress(config, 'certificate_proxies', 'each client can claim any certificate'),
  'admin.token': shortAdminToken,
  first_challenge: unreachableScopes,
  'resource.scopes_supported': refreshScopes,
  issuer: insecureIssuers,
  ...Object.fromEntries(capabilities.flatMap(({ name, warningsOf: of }) => (of === undefined ? [] : [[name, of]]))),
  'front_door.scopes': missingScopes,
  'front_door.issuer': missingRoute,
  'front_door.workloads': openSubjects,
  scopes: unnamedScopes,
  identity: ({ routes }) => routes.flatMap(placeholderClaims),
  claims: claimPaths,
  audience: audiencePatterns,
  scopes_supported: unsupportedScopes,
  scope: misspeltScopes,
  resources: freeVariables,
};

/** Probable mistakes in a valid configuration, in the order of {@link warnings}. */
export function warningsOf(config: Judged, placedScopes: ReadPolicies['placedScopes']): readonly Warning[] {
  return Object.values(warnings).flatMap((warning) => warning(config, placedScopes));
}

function publicUrlFlaws({ publicUrl, tls, trustedProxies }: Judged): readonly Warning[] {
  if (publicUrl.startsWith('http:') && !isLoopbackUrl(publicUrl)) {
    const risk = 'is http and not on loopback: a party on the way can read and use every token; use https';
    return [at(['public_url'], `${quoted(publicUrl)} ${risk}`)];
  }
  if (!publicUrl.startsWith('https:') || tls !== undefined || trustedProxies.length > 0) return [];
  const remedy =
    'add the proxy that terminates TLS to trusted_proxies; without it, all its callers share one address in limits';
  return [at(['public_url'], `is https, and there is no tls: ${remedy}`)];
}

function shortAdminToken({ admin }: Judged): readonly Warning[] {
  if ((admin?.token?.length ?? ADMIN_TOKEN_CHARACTERS) >= ADMIN_TOKEN_CHARACTERS) return [];
  return [at(['admin', 'token'], `is short: use at least ${ADMIN_TOKEN_CHARACTERS} random characters`)];
}

/** Scopes of step-up that `first_challenge: supported` puts out of reach. */
function unreachableScopes({ routes }: Judged): readonly Warning[] {
  return routes.flatMap((route, index) => {
    const missing = stepUpScopes(route).join(' ');
    if (missing === '' || route.firstChallenge !== 'supported') return [];
    const message = `"supported" names scopes_supported, which lacks ${missing}`;
    const remedy = 'add them, or some clients can never get them';
    return [at(['routes', index, 'first_challenge'], `${message}: ${remedy}`)];
  });
}

/**
 * `offline_access` is a matter of the client and the authorization server. A client that reads it in the metadata of a
 * resource asks for it, and some servers refuse the request. MCP: `scopes_supported` is the minimal set.
 */
function refreshScopes({ routes }: Judged): readonly Warning[] {
  return routes.flatMap(({ resource }, index) => {
    if (resource?.scopesSupported?.includes('offline_access') !== true) return [];
    const message = 'has offline_access, which is no scope of a resource: remove it; clients ask for it themselves';
    return [at(['routes', index, 'resource', 'scopes_supported'], message)];
  });
}

function at(path: Path, message: string, policy?: string): Warning {
  return { path, part: 'value', message, ...(policy !== undefined && { policy }) };
}

function everyAddress(config: Judged, key: 'trusted_proxies' | 'certificate_proxies', risk: string): Warning[] {
  const networks = key === 'trusted_proxies' ? config.trustedProxies : config.certificateProxies;
  return networks.flatMap((network, index) =>
    network.endsWith('/0') ? [at([key, index], `${quoted(network)} trusts every address: ${risk}`)] : [],
  );
}

/** Whether clients and authorization servers are on this machine: a demo, or a test. */
export function isLocal({
  authorizationServers,
  publicUrl,
}: Pick<Config, 'authorizationServers' | 'publicUrl'>): boolean {
  return isLoopbackUrl(publicUrl) && [...authorizationServers.values()].every(({ issuer }) => isLoopbackUrl(issuer));
}

function insecureIssuers({ authorizationServers, frontDoor }: Judged): readonly Warning[] {
  const issuers: readonly (readonly [Path, { readonly issuer: string }])[] = [
    ...[...authorizationServers.values()].map((server) => [pathOf(server), server] as const),
    ...Array.from(
      frontDoor?.providers ?? [],
      ([name, provider]) => [[FRONT_DOOR, 'identity_providers', name], provider] as const,
    ),
    ...Array.from(
      frontDoor?.workloads ?? [],
      ([name, workload]) => [[FRONT_DOOR, 'workloads', name], workload] as const,
    ),
  ];
  return issuers.flatMap(([path, { issuer }]) => insecureIssuer(path, issuer));
}

function pathOf({ name }: AuthorizationServer): Path {
  return name === FRONT_DOOR ? [FRONT_DOOR] : ['authorization_servers', name];
}

function unnamedScopes({ routes, scopeHierarchy }: Judged): readonly Warning[] {
  const named = new Set(
    routes.flatMap(({ policy, resource }) => (policy?.scopes ?? []).concat(resource?.scopesSupported ?? [])),
  );
  const isUnnamed = (scope: string): boolean =>
    ![scope].concat(scopeHierarchy.get(scope) ?? []).some((each) => named.has(each));
  const bySize = [...scopeHierarchy].toSorted(([, one], [, other]) => one.length - other.length);
  const implied = new Set(bySize.flatMap(([, scopes]) => scopes));
  return [...new Set([...scopeHierarchy.keys(), ...implied])].filter(isUnnamed).map((scope) => {
    // The hierarchy is closed: of the scopes that imply one, that with the fewest has it in its own list.
    const key = scopeHierarchy.has(scope) ? scope : bySize.find(([, scopes]) => scopes.includes(scope))?.[0];
    return { path: ['scopes', key ?? scope], part: 'key', message: `no route supports ${quoted(scope)}` };
  });
}

/**
 * The scopes that a policy needs of every caller while no route with the policy supports them. The challenge of a call
 * names the scope of its tool, which need not be supported from the start.
 */
function unsupportedScopes(config: Judged): readonly Warning[] {
  const policies = new Set(config.routes.flatMap(({ policy }) => policy ?? []));
  return [...policies].flatMap((policy) => {
    const supported = supportedScopes(config, policy);
    const lists = config.routes.flatMap((route, index) =>
      route.policy === policy ? `routes[${index}].resource.scopes_supported` : [],
    );
    return policy.scope
      .filter((scope) => supported !== undefined && !supported.has(scope))
      .map((scope) => {
        const message = `every caller needs ${quoted(scope)}, which scopes_supported of no route has`;
        const remedy = `add it to ${lists.join(' and ')}`;
        const near = didYouMean(scope, [...(supported ?? [])]);
        const hint = near === undefined ? remedy : `did you mean ${near}? If not, ${remedy}`;
        return at(['scope'], `${message}; ${hint}`, policy.name);
      });
  });
}

function supportedScopes({ routes, scopeHierarchy }: Judged, policy: Policy): ReadonlySet<string> | undefined {
  const lists = routes
    .filter((route) => route.policy === policy)
    .map(({ resource }) => resource?.scopesSupported ?? []);
  return lists.some((list) => list.length === 0) ? undefined : expandScopes(lists.flat(), scopeHierarchy);
}

/** Scopes below the top of a policy that nothing else names, and that are a letter or two from one that is known. */
function misspeltScopes(config: Judged, placed: ReadPolicies['placedScopes']): readonly Warning[] {
  const { routes, scopeHierarchy, frontDoor } = config;
  return [...placed].flatMap(([name, scopes]) => {
    const users = routes.filter(({ policy }) => policy?.name === name);
    const known = new Set([
      ...users.flatMap(({ resource }) => resource?.scopesSupported ?? []),
      ...(users.some(({ authorizationServers: servers }) => servers.some((server) => server.name === FRONT_DOOR))
        ? (frontDoor?.scopes.keys() ?? [])
        : []),
      ...scopeHierarchy.keys(),
      ...[...scopeHierarchy.values()].flat(),
    ]);
    return scopes
      .filter(({ scope, path }) => path.length > 1 && !known.has(scope))
      .flatMap(({ scope, path }) => {
        const near = didYouMean(scope, [...known]);
        if (near === undefined) return [];
        const message = `no route supports ${quoted(scope)}; did you mean ${near}? If not, add it to scopes_supported`;
        return [at(path, message, name)];
      });
  });
}

/** Keys of resources with variables on which nothing is asked: they cover URIs, and not only the template. */
function freeVariables({ policies }: Judged): readonly Warning[] {
  const message = 'covers URIs as * does, and not only the template: write `variables` for what they may be, or *';
  return [...policies.values()].flatMap(({ name: policy, listed, rules }) =>
    listed
      .filter(({ key, name }) => key === 'resources' && variablesIn(name).length > 0)
      .filter(({ name }) => {
        const conditions = rulePath(['resources', name, 'variables']);
        return !rules.some((rule) => rule.startsWith(conditions));
      })
      .map(({ name }) => at(['resources', name], message, policy)),
  );
}

/** Names of claims as templates and examples have them: brackets, words, fillers. */
const placeholder = new RegExp(
  '^(?:<.*>|\\{.*\\}|\\$.*|\\.{3}|…|x{3,}' +
    '|todo|tbd|fixme|change[-_ ]?me|placeholder|claim|claim[-_ ]?name|(?:your|my|some)[-_ ].*)$',
  'i',
);

function placeholderClaims({ upstream }: Route, index: number): readonly Warning[] {
  return [...upstream.identity]
    .filter(([, claim]) => placeholder.test(claim))
    .map(([header, claim]) => {
      const path = ['routes', index, 'upstream', 'identity', header];
      return at(path, `${quoted(claim)} looks like a placeholder: write the name of a claim`);
    });
}

/** Names of claims that are written as paths, at every key that takes one. */
function claimPaths({ routes, log, frontDoor }: Judged): readonly Warning[] {
  const sources = (section: string, entries: ReadonlyMap<string, Pick<IdentityProvider, 'claims'>> = new Map()) =>
    [...entries].flatMap(([name, { claims }]) =>
      Array.from(claims, ([claim, source]) => [[FRONT_DOOR, section, name, 'claims', claim], source] as const),
    );
  const names: readonly (readonly [Path, string])[] = [
    ...routes.flatMap(({ upstream: { identity } }, index) =>
      Array.from(identity, ([header, claim]) => [['routes', index, 'upstream', 'identity', header], claim] as const),
    ),
    ...log.details.claims.map(({ name }, index) => [['log', 'claims', index], name] as const),
    ...sources('identity_providers', frontDoor?.providers),
    ...sources('assertions', frontDoor?.assertions),
    ...sources('workloads', frontDoor?.workloads),
  ];
  return names.flatMap(([path, name]) => {
    const mistake = claimPathMistake(name);
    return mistake === undefined ? [] : [at(path, mistake)];
  });
}

/** Audiences that look like a pattern: `aud` is compared with them as they are written. */
function audiencePatterns({ routes }: Judged): readonly Warning[] {
  return routes.flatMap(({ audiences }, index) =>
    [...audiences].flatMap((audience) => {
      const message = `${quoted(audience)} is compared with aud as it is written; name each audience`;
      return audience.includes('*') ? [at(['routes', index, 'audience'], message)] : [];
    }),
  );
}

/** Scopes that a policy asks for where the front door alone could grant them, and does not know them. */
function missingScopes({ frontDoor, routes, scopeHierarchy }: Judged): readonly Warning[] {
  if (frontDoor === undefined) return [];
  const granted = expandScopes([...frontDoor.scopes.keys()], scopeHierarchy);
  return routes
    .filter(({ authorizationServers: [server, ...others] }) => server?.name === FRONT_DOOR && others.length === 0)
    .flatMap(({ name, policy }) => {
      const missing = policy?.scopes.filter((scope) => !granted.has(scope)) ?? [];
      if (missing.length === 0) return [];
      const it = missing.length === 1 ? 'it' : 'them';
      const message = `lacks ${missing.join(' ')}, which policy ${policy?.name} of route ${name} asks for`;
      const path = [FRONT_DOOR, 'scopes'];
      return [{ path, part: 'key' as const, message: `${message}: add ${it}, or no caller can get ${it}` }];
    });
}

/** Patterns that leave the owner open, at its begin or its end: all owners of a hosted platform have one issuer. */
function openSubjects({ frontDoor }: Judged): readonly Warning[] {
  return Array.from(frontDoor?.workloads.values() ?? []).flatMap(({ name, subjects }) =>
    subjects.flatMap((pattern, index) => {
      if (!/^(?:(?:[a-z_]+:)?|(?:repo|repository_owner|project_path):[^/:@]*)\*/.test(pattern)) return [];
      const message = `${quoted(pattern)} leaves the owner open, and covers workloads of others: name the owner whole`;
      return [at([FRONT_DOOR, 'workloads', name, 'subjects', index], message)];
    }),
  );
}

function missingRoute({ frontDoor, publicUrl, routes }: Judged): readonly Warning[] {
  if (frontDoor?.issuer === publicUrl) {
    const message =
      'is public_url, where clients reach the gateway: give it a host name of its own, or a path, ' +
      'unless the proxy in front of the gateway leads its paths to the front door';
    return [at([FRONT_DOOR, 'issuer'], message)];
  }
  if (frontDoor?.issuer.startsWith(`${publicUrl}/`) !== true || routes.some(({ isFrontDoor }) => isFrontDoor))
    return [];
  const { issuer, server } = frontDoor;
  const path = issuer.slice(publicUrl.length);
  const route = `{ name: signin, path: ${path}, public: true, upstream: { url: '${server.backchannel}' } }`;
  const remedy = `add ${route} to routes, unless the proxy in front of the gateway leads there`;
  return [at([FRONT_DOOR, 'issuer'], `is a path of public_url, and no public route has it: ${remedy}`)];
}

/** The secrets that a configuration file itself holds, each with its place. None is shown. */
export function plainSecrets(file: YamlFile): readonly Problem[] {
  return stringsIn(file.value, []).flatMap(({ path, text }) => {
    const what = isSecret(path) && isConfidential(path, text) ? exposure(text) : undefined;
    return what === undefined ? [] : [problemIn(file, { path, part: 'value', message: `${what}; ${remedy}` })];
  });
}

const remedy = 'keep it in the environment or in a file, as ${env:NAME} or ${file:PATH}';

function exposure(text: string): string | undefined {
  if (!text.includes('${')) return 'a secret in plain text';
  return /\$\{env:[^}]*?:-[^}]/.test(text) ? 'a secret as the default of a placeholder' : undefined;
}

/** Whether a value in a secret place is one: neither a URL without a password nor the name of a key. */
function isConfidential(path: Path, text: string): boolean {
  if (path.includes('client_key')) return text.includes('PRIVATE KEY');
  return (path[0] !== 'shared' && path[0] !== 'egress') || /:\/\/[^/]*@|[?&]sentinel_password=./.test(text);
}

function stringsIn(value: unknown, path: Path): readonly { readonly path: Path; readonly text: string }[] {
  if (typeof value === 'string') return [{ path, text: value }];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) =>
    stringsIn(inner, [...path, Array.isArray(value) ? Number(key) : key]),
  );
}
