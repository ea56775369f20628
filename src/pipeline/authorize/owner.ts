import { randomUUID } from 'node:crypto';
import { lengthPrefixed } from '../../lib/length-prefixed.ts';
import type { HandleBinding } from '../../mcp/handles-binding.ts';
import type { OwnerBound } from '../../mcp/owner-bound.ts';
import type { Grant } from '../../model/grant.ts';
import { noMethod } from '../../model/mcp.ts';
import type { Principal } from '../../model/principal.ts';
import type { Route } from '../../model/route.ts';

/**
 * The owner of a session, a task or a request's state: the caller on one route. Never the token, which is renewed
 * during a session.
 */
export function ownerOf(route: Route, principal: Principal | undefined): string {
  const name = lengthPrefixed([route.name]);
  if (principal === undefined) return name;
  // A caller that cannot be distinguished from others owns nothing that a second request could use.
  return name + (principal.callerKey ?? lengthPrefixed([principal.issuer, 'unidentified', randomUUID()]));
}

/**
 * Creates the client's `Mcp-Session-Id` for one of the upstream: bound to its owner; none in MCP 2026-07-28, which has
 * no sessions. On an HTTP route the header has no meaning and passes unchanged.
 */
export function createSessionId(
  route: Route,
  sessions: OwnerBound,
): (theirs: string, grant: Grant) => string | undefined {
  if (route.protocol === 'http') return (theirs) => theirs;
  return (theirs, { principal, action }) =>
    action.era === 'modern' ? undefined : sessions.bind(theirs, ownerOf(route, principal));
}

/** The owner of an event: the owner of its session, in this session. */
export function eventOwner(route: Route, principal: Principal | undefined, sessionId: string | undefined): string {
  return ownerOf(route, principal) + lengthPrefixed(['event', sessionId ?? '']);
}

/**
 * Creates the binding of the event ids of a stream to the caller and the session. A server resumes a stream by an id
 * alone, and some servers number the events of all sessions in one sequence: with the next number a client would read
 * another's events.
 */
export function createBindEventIds(
  route: Route,
  sessions: OwnerBound,
): (grant: Grant, sessionId: string | undefined) => (id: string) => string {
  return ({ principal }, sessionId) => {
    // At the first id: most streams have none.
    let owner: string | undefined;
    return (id) => {
      owner ??= eventOwner(route, principal, sessionId);
      return sessions.bind(Buffer.from(id, 'latin1').toString('base64url'), owner);
    };
  };
}

const noMessage = { method: noMethod, targets: [] };

/**
 * Creates the binding of the handles in an upstream's message to the caller; it returns undefined where there are none.
 * A task becomes the caller's only when it is created: an answer that names other tasks, as a list does, gives none
 * out.
 */
export function createBindHandles(
  route: Route,
  handles: HandleBinding,
): (text: string, grant: Grant, counted: string | undefined) => string | undefined {
  return (text, { principal, action: { attempt, tasks } }, counted) => {
    const { method, targets } = attempt.kind === 'mcp' ? attempt : noMessage;
    return handles.bindAll(text, { owner: ownerOf(route, principal), method: method.name, targets, counted }, tasks);
  };
}
