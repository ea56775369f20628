import type { Config } from '../model/config.ts';
import { FRONT_DOOR } from '../model/front-door.ts';
import { expandScopes } from '../model/scope-hierarchy.ts';

/** Probable mistakes in how routes and the front door fit, a sentence each. */
export function frontDoorWarnings(config: Config): readonly string[] {
  return [...missingScopes(config), ...missingRoute(config)];
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
