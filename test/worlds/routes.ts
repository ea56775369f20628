import type { TestGateway } from '../support/gateway.ts';
import { startWorld, type World } from './gateway.ts';

const audience = 'https://api.example';

/** A gateway before upstreams that a test brings. It has the members of the gateway itself. */
export interface RoutesWorld extends World, Omit<TestGateway, 'close'> {}

/**
 * Starts one with `routes` in YAML, each a line: `name: x, path: /x, …`. They share an audience unless they are public.
 *
 * @param limits More lines at the top level; with `tls` among them, the gateway serves https.
 */
export async function startRoutesWorld(routes: readonly string[], limits = ''): Promise<RoutesWorld> {
  const world = await startWorld({
    ...(/^tls:/m.test(limits) && { publicUrl: 'https://gateway.test' }),
    claims: { aud: audience },
    top: limits,
    server: 'clock_tolerance: 0s, jwt: { algorithms: [RS256] }',
    routes: routes.map((route) => (route.includes('public:') ? route : `${route}, audience: ${audience}`)),
  });
  return { ...world.gateway, ...world };
}
