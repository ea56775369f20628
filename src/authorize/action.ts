import { readMessage } from '../mcp/message.ts';
import type { Call } from '../model/call.ts';
import { Denial } from '../model/denial.ts';
import type { Action } from '../model/grant.ts';
import type { Principal } from '../model/principal.ts';
import type { Route } from '../model/route.ts';

/** Finds out what a call attempts. The caller comes first: nobody's body is read before it is known whose it is. */
export type ReadAction = (call: Call, principal: Principal | undefined) => Action | Promise<Action>;

/** Reads a whole body within the configured limit. */
export type ReadBody = (call: Call) => Promise<Buffer>;

const httpAction: Action = { attempt: { kind: 'http' }, messageId: null, body: undefined };

/** Creates the reader for a route: an HTTP route is decided on by its head alone, an MCP route by each message. */
export function createActionReader(route: Route, readBody: ReadBody): ReadAction {
  return route.protocol === 'http' ? () => httpAction : (call) => mcpAction(call, readBody);
}

/** A GET opens the server's stream and a DELETE ends a session (Streamable HTTP, legacy revisions): no message. */
const withoutMessage: Action = {
  attempt: { kind: 'mcp', method: undefined, tool: undefined },
  messageId: null,
  body: undefined,
};

function mcpAction(call: Call, readBody: ReadBody): Action | Promise<Action> {
  if (call.method === 'POST') return messageAction(call, readBody);
  if (call.fields.transferEncoding !== undefined || Number(call.fields.contentLength ?? 0) > 0) {
    throw new Denial('request.framing', `a ${call.method} with a body, which would pass without being read`);
  }
  return withoutMessage;
}

/** RFC 8259 §8.1: JSON is UTF-8; a charset that says so changes nothing. */
const jsonType = /^application\/json *(?:; *charset="?utf-8"?)? *$/i;

async function messageAction(call: Call, readBody: ReadBody): Promise<Action> {
  const { contentType, contentEncoding } = call.fields;
  if (contentType === undefined || !jsonType.test(contentType)) {
    throw new Denial('body.type', 'content-type is not application/json');
  }
  if (contentEncoding !== undefined && contentEncoding.toLowerCase() !== 'identity') {
    throw new Denial('body.encoding', 'a content-encoding, which would hide the message');
  }
  const body = await readBody(call);
  const { method, id, tool } = readMessage(body);
  return { attempt: { kind: 'mcp', method, tool }, messageId: id, body };
}
