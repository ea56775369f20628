/**
 * Requests that this process makes on its own account: to authorization servers, providers, collectors. None of them
 * leaves by another way, so that a proxy for them is set in one place. Requests to upstreams are not among them.
 *
 * @module
 */

import type { Agent, ClientRequest } from 'node:http';
import { request as requestTls, type RequestOptions } from 'node:https';
import { http } from '../core/lib/http/node-http.ts';

/** Leads own requests through proxies. */
export interface Egress {
  /** The proxies by the scheme of the target, without credentials. */
  readonly proxies: Readonly<Record<'http' | 'https', string | undefined>>;
  /** The agent that reaches a target through a proxy; undefined: it is reached directly. */
  readonly agentFor: (target: URL) => Agent | undefined;
}

/** The line of the log that says which proxies lead requests of the gateway's own, by the scheme of the target. */
export const OWN_REQUESTS_LED = "a proxy leads the gateway's own requests";

let current: Egress | undefined;

/**
 * Leads all later requests of this process through `next`; undefined: directly.
 *
 * @returns what led them before.
 */
export function leadOwnRequests(next: Egress | undefined): Egress | undefined {
  const before = current;
  current = next;
  return before;
}

/** What leads the requests of this process; undefined: they go directly. */
export function ownEgress(): Egress | undefined {
  return current;
}

/** Whether a target is reached through a proxy, which then resolves its name. */
export function isLed(target: URL): boolean {
  return current?.agentFor(target) !== undefined;
}

/** Opens a request to an http(s) URL, through the proxy for it if there is one. A proxy takes the place of `agent`. */
export function openRequest(target: URL, options: RequestOptions): ClientRequest {
  const agent = current?.agentFor(target);
  return openDirectRequest(target, agent === undefined ? options : { ...options, agent });
}

/** Opens a request to another part of this gateway, which no proxy stands before. */
export function openDirectRequest(target: URL, options: RequestOptions): ClientRequest {
  return (target.protocol === 'https:' ? requestTls : http.request)(target, options);
}
