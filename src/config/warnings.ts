import type { AuthorizationServer } from '../model/authorization-server.ts';
import type { Config } from '../model/config.ts';
import { FRONT_DOOR } from '../model/front-door.ts';
import type { Policy } from '../model/policy.ts';
import { type Route, stepUpScopes } from '../model/route.ts';
import { expandScopes } from '../model/scope-hierarchy.ts';
import { quoted } from '../lib/wording.ts';
import { isLoopbackUrl } from '../lib/loopback.ts';

/** Shorter tokens can be guessed in spite of the rate limit of the admin listener. */
const ADMIN_TOKEN_CHARACTERS = 16;

/** Probable mistakes in a valid configuration, a sentence each. `check` prints them, and the log repeats them. */
export function warningsOf(config: Config): readonly string[] {
  const warnings: string[] = [];
  const { publicUrl, tls, trustedProxies } = config;
  if (publicUrl.startsWith('https:') && tls === undefined && trustedProxies.length === 0) {
    const remedy =
      'add the proxy that terminates TLS to trusted_proxies; without it, all its callers share one address in limits';
    warnings.push(`public_url is https and there is no tls: ${remedy}`);
  }
  if (includesEveryAddress(config.trustedProxies)) {
    warnings.push('trusted_proxies trusts every address: each client can choose its own address');
  }
  if (includesEveryAddress(config.certificateProxies)) {
    warnings.push('certificate_proxies trusts every address: each client can claim any certificate');
  }
  if ((config.admin?.token?.length ?? ADMIN_TOKEN_CHARACTERS) < ADMIN_TOKEN_CHARACTERS) {
    warnings.push(`admin.token is short: use at least ${ADMIN_TOKEN_CHARACTERS} random characters`);
  }
  for (const route of config.routes) {
    const { name, firstChallenge } = route;
    const missing = stepUpScopes(route).join(' ');
    if (missing === '' || firstChallenge !== 'supported') continue;
    const remedy = 'add them, or some clients can never get them';
    warnings.push(
      `first_challenge: supported of route ${name} names scopes_supported, which lacks ${missing}: ${remedy}`,
    );
  }
  warnings.push(...[...config.authorizationServers.values()].flatMap(insecureIssuer));
  for (const { name, issuer } of config.frontDoor?.providers.values() ?? []) {
    warnings.push(...insecure(`front_door.identity_providers.${name}`, issuer));
  }
  for (const { name, issuer } of config.revocation?.sources.values() ?? []) {
    warnings.push(...insecure(`revocation.events.${name}`, issuer));
  }
  warnings.push(...revocationPlace(config));
  warnings.push(...missingScopes(config), ...missingRoute(config));
  warnings.push(...unsupportedScopes(config));
  warnings.push(...config.routes.flatMap(placeholderClaims));
  return warnings;
}

/** Where revocations are kept, if that may surprise. */
function revocationPlace({ revocation, shared }: Config): readonly string[] {
  if (revocation === undefined) return [];
  if (shared === undefined && revocation.file === undefined)
    return ['revocation keeps revocations in memory, and a restart forgets them: set revocation.file, or shared'];
  if (shared === undefined || revocation.file === undefined) return [];
  return ['revocation.file has no effect with shared, which keeps revocations: remove it'];
}

/** Whether the configuration trusts only authorization servers on this machine: a demo, or a test. */
export function trustsLoopbackOnly({ authorizationServers }: Config): boolean {
  return [...authorizationServers.values()].every(({ issuer }) => isLoopbackUrl(issuer));
}

function insecureIssuer({ name, issuer }: AuthorizationServer): readonly string[] {
  return insecure(name === FRONT_DOOR ? FRONT_DOOR : `authorization_servers.${name}`, issuer);
}

function insecure(place: string, issuer: string): readonly string[] {
  if (!issuer.startsWith('http:') || isLoopbackUrl(issuer)) return [];
  const risk = 'a party on the way can replace its keys';
  return [`${place}.issuer ${quoted(issuer)} is http and not on loopback: ${risk}; use https`];
}

/** Scopes that look misspelled. */
function unsupportedScopes({ routes, scopeHierarchy }: Config): readonly string[] {
  const policies = new Set(routes.flatMap(({ policy }) => policy ?? []));
  return [
    ...unnamedScopes(routes, scopeHierarchy).map((scope) => `scopes has ${quoted(scope)}, which no route supports`),
    ...[...policies].flatMap((policy) =>
      unsupportedBy(routes, policy, scopeHierarchy).map((scope) => {
        const wanted = `policy ${policy.name} wants the scope ${quoted(scope)} of every caller`;
        return `${wanted}, which scopes_supported of no route has`;
      }),
    ),
  ];
}

/** The scopes of `scopes` that no route names, and that imply none that a route names. */
function unnamedScopes(routes: readonly Route[], hierarchy: Config['scopeHierarchy']): readonly string[] {
  const named = new Set(
    routes.flatMap(({ policy, resource }) => (policy?.scopes ?? []).concat(resource?.scopesSupported ?? [])),
  );
  const configured = new Set([...hierarchy.keys(), ...[...hierarchy.values()].flat()]);
  return [...configured].filter((scope) => ![scope].concat(hierarchy.get(scope) ?? []).some((each) => named.has(each)));
}

/**
 * The scopes that a policy wants of every caller while no route with the policy supports them. A scope of one tool is
 * asked for when it is called, and need not be supported from the start.
 */
function unsupportedBy(
  routes: readonly Route[],
  policy: Policy,
  hierarchy: Config['scopeHierarchy'],
): readonly string[] {
  const lists = routes
    .filter((route) => route.policy === policy)
    .map(({ resource }) => resource?.scopesSupported ?? []);
  if (lists.some((list) => list.length === 0)) return [];
  const supported = expandScopes(lists.flat(), hierarchy);
  return policy.scope.filter((scope) => !supported.has(scope));
}

/** Names of claims as templates and examples have them: brackets, words, fillers. */
const placeholder = new RegExp(
  '^(?:<.*>|\\{.*\\}|\\$.*|\\.{3}|…|x{3,}' +
    '|todo|tbd|fixme|change[-_ ]?me|placeholder|claim|claim[-_ ]?name|(?:your|my|some)[-_ ].*)$',
  'i',
);

function placeholderClaims({ name, upstream }: Route): readonly string[] {
  return [...upstream.identity]
    .filter(([, claim]) => placeholder.test(claim))
    .map(([header, claim]) => {
      const place = `route ${name}: upstream.identity.${header}`;
      return `${place} is ${quoted(claim)}, which looks like a placeholder: write the name of a claim`;
    });
}

/** Whether one of the networks is the whole of IPv4 or IPv6. */
function includesEveryAddress(networks: readonly string[]): boolean {
  return networks.some((network) => network.endsWith('/0'));
}

/** Scopes that a policy asks for where the front door alone could grant them, and does not know them. */
function missingScopes({ frontDoor, routes, scopeHierarchy }: Config): readonly string[] {
  if (frontDoor === undefined) return [];
  const granted = expandScopes([...frontDoor.scopes.keys()], scopeHierarchy);
  return routes
    .filter(({ authorizationServers: [server, ...others] }) => server?.name === FRONT_DOOR && others.length === 0)
    .flatMap(({ name, policy }) => {
      const missing = policy?.scopes.filter((scope) => !granted.has(scope)) ?? [];
      if (missing.length === 0) return [];
      const it = missing.length === 1 ? 'it' : 'them';
      const wanted = `which policy ${policy?.name} of route ${name} asks for`;
      return [`front_door.scopes lacks ${missing.join(' ')}, ${wanted}: add ${it}, or no caller can get ${it}`];
    });
}

/** An issuer below the URL of the gateway, which has no route for it. */
function missingRoute({ frontDoor, publicUrl, routes }: Config): readonly string[] {
  if (frontDoor?.issuer.startsWith(`${publicUrl}/`) !== true || routes.some(({ isFrontDoor }) => isFrontDoor))
    return [];
  const { issuer, server } = frontDoor;
  const path = issuer.slice(publicUrl.length);
  const route = `{ name: signin, path: ${path}, public: true, upstream: { url: '${server.backchannel}' } }`;
  const remedy = `add ${route} to routes, unless the proxy before the gateway leads there`;
  return [`front_door.issuer is a path of public_url, and no public route has it: ${remedy}`];
}
