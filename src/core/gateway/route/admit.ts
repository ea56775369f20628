import { declaresBody } from '../../lib/http/header-fields.ts';
import type { Call } from '../../model/call.ts';
import { Denial } from '../../model/denial.ts';
import type { Route } from '../../model/route.ts';
import type { Endpoint } from '../../model/endpoint.ts';

/** The methods of Streamable HTTP. The policy cannot decide what an MCP server does with any other. */
const mcpMethods: ReadonlySet<string> = new Set(['POST', 'GET', 'DELETE']);

/** The methods that a route serves; undefined for all. */
export function methodsOf(route: Endpoint): ReadonlySet<string> | undefined {
  return route.methods ?? (route.protocol === 'mcp' ? mcpMethods : undefined);
}

/**
 * @returns a guard that throws {Denial} `route.unknown` or `route.method` for a path or a method that is not served.
 */
export function createAdmit(route: Endpoint): (call: Call) => void {
  const methods = methodsOf(route);
  return (call) => {
    // A policy decides on messages, not on paths: below the endpoint an allowed message could do anything. This check
    // comes before the token, so that a client that looks for metadata there learns that there is none.
    if (route.below === 'refuse' && call.path !== route.path) {
      throw new Denial('route.unknown', 'a path below the endpoint of an MCP route without `below: pass`');
    }
    // RFC 9110 §9.3.8: the answer is the request itself, with fields for the upstream that no client may see.
    if (call.method === 'TRACE') throw new Denial('route.method', 'TRACE');
    if (methods !== undefined && !methods.has(call.method))
      throw new Denial('route.method', `${call.method} is not among ${[...methods].join(', ')}`);
  };
}

/** @returns a guard for upgrades that throws {Denial} `route.upgrade`, or `request.framing` for one with a body. */
export function createAdmitUpgrade({ upgrade }: Pick<Route, 'upgrade'>): (call: Call) => void {
  return (call) => {
    if (upgrade !== 'websocket') throw new Denial('route.upgrade', 'the route serves no upgrade');
    if (call.method !== 'GET') throw new Denial('route.upgrade', 'an upgrade of another method than GET');
    if (declaresBody(call.fields)) throw new Denial('request.framing', 'an upgrade with a body');
  };
}
