import { randomUUID } from 'node:crypto';
import type { HandleBinding } from '../mcp/handles-binding.ts';
import type { OwnerBound } from '../mcp/owner-bound.ts';
import type { Grant } from '../model/grant.ts';
import type { Principal } from '../model/principal.ts';
import type { Route } from '../model/route.ts';

/**
 * Whom a session, a task and a request's state belong to: issuer and subject, on one route. Never the token's bytes, since tokens are renewed; the
 * client only where the token speaks for nobody else (client credentials).
 */
export function ownerOf(route: Route, principal: Principal | undefined): readonly string[] {
  if (principal === undefined) return [route.name];
  const { issuer, subject, clientId } = principal;
  if (subject !== undefined) return [route.name, issuer, 'subject', subject];
  if (clientId !== undefined) return [route.name, issuer, 'client', clientId];
  // RFC 7662 lets both be absent. Whoever is nobody shares nothing, not even with themselves.
  return [route.name, issuer, 'nobody', randomUUID()];
}

/**
 * What the client sees for the `Mcp-Session-Id` of an upstream: bound to its owner; none in MCP 2026-07-28, which has no
 * sessions. On a route that is not MCP the header means nothing to us.
 */
export function createSessionId(
  route: Route,
  sessions: OwnerBound,
): (theirs: string, grant: Grant) => string | undefined {
  if (route.protocol === 'http') return (theirs) => theirs;
  return (theirs, { principal, action }) =>
    action.era === 'modern' ? undefined : sessions.bind(theirs, ownerOf(route, principal));
}

/** Whom an event of a stream belongs to: the owner of its session, in this session. */
export function eventOwner(
  route: Route,
  principal: Principal | undefined,
  sessionId: string | undefined,
): readonly string[] {
  return [...ownerOf(route, principal), 'event', sessionId ?? ''];
}

/**
 * Binds an event's id to the caller and the session. A server resumes a stream by an id alone, and some of them number
 * the events of all sessions in one row: with the next number a client would read what was said to another.
 */
export function createBindEventId(
  route: Route,
  sessions: OwnerBound,
): (id: string, grant: Grant, sessionId: string | undefined) => string {
  return (id, { principal }, sessionId) =>
    sessions.bind(Buffer.from(id, 'latin1').toString('base64url'), eventOwner(route, principal, sessionId));
}

const noMessage = { method: undefined, targets: [] };

/**
 * Binds the handles in the text of an upstream's message to the caller; undefined where it has none. A task becomes the
 * caller's by its creation alone: an answer that tells of other tasks, as a list does, does not hand them out.
 */
export function createBindHandles(
  route: Route,
  handles: HandleBinding,
): (text: string, grant: Grant) => string | undefined {
  return (text, { principal, action: { attempt, tasks } }) => {
    const { method, targets } = attempt.kind === 'mcp' ? attempt : noMessage;
    return handles.bindAll(text, { owner: ownerOf(route, principal), method, targets }, tasks);
  };
}
