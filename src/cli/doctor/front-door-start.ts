import { ownBackchannel } from '../../config/front-door.ts';
import { reasonOf } from '../../lib/error-reason.ts';
import type { Config } from '../../model/config.ts';
import type { FrontDoor } from '../../model/front-door.ts';
import { fetchText } from './fetch-text.ts';

/** Whether `serve` would start the front door, and nothing listens there yet: `doctor` may well run before `serve`. */
export async function isNotStarted({ issuer, listen, server }: FrontDoor): Promise<boolean> {
  if (server.backchannel !== ownBackchannel(issuer, listen)) return false;
  try {
    await fetchText(server.backchannel, 'HEAD');
    return false;
  } catch (error) {
    return reasonOf(error) === 'ECONNREFUSED';
  }
}

/** The configuration without the server and the route that lead to the front door: examining them would repeat it. */
export function withoutFrontDoor(config: Config): Config {
  const { authorizationServers, frontDoor, routes } = config;
  return {
    ...config,
    authorizationServers: new Map([...authorizationServers].filter(([, server]) => server !== frontDoor?.server)),
    routes: routes.filter(({ isFrontDoor }) => !isFrontDoor),
  };
}
