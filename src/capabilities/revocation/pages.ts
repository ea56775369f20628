import type { IncomingMessage, ServerResponse } from 'node:http';
import { isObject } from '../../core/lib/json/own-member.ts';
import type { RevokeCommand } from '../../core/model/revocation.ts';
import { type AdminPages, type AdminParts, AdminRefusal, type AdminSource, jsonBody, send } from '../admin.ts';
import { keptRevocations, revoke } from './questions.ts';

const MAX_COMMAND_BYTES = 16 * 1024;

/** Where operators revoke, and list what is kept: GET lists it, a JSON line each, and POST revokes. */
export function revocationPages({ source }: AdminParts): AdminPages {
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method === 'GET') return list(response, source);
    if (request.method !== 'POST') throw new AdminRefusal(405, '', { allow: 'GET, POST' });
    send(response, await source.ask(revoke, await commandIn(request)));
  }

  return { withToken: (path) => (path === '/revocations' ? answer : undefined) };
}

/** A part at a time: a long list must not hold up requests, nor fill the memory. */
async function list(response: ServerResponse, source: AdminSource): Promise<void> {
  let part = await source.ask(keptRevocations, 0);
  if (part.status !== 200) throw new AdminRefusal(part.status, `${part.body}\n`);
  response.writeHead(200, { 'content-type': 'application/x-ndjson' });
  while (part.next !== undefined) {
    if (!response.write(part.body))
      await new Promise((resolve) => response.once('drain', resolve).once('close', resolve));
    if (response.destroyed) return;
    part = await source.ask(keptRevocations, part.next);
    // The process that was asked has ended: an operator must not take a part for the whole.
    if (part.status !== 200) return void response.destroy();
  }
  response.end(part.body);
}

async function commandIn(request: IncomingMessage): Promise<RevokeCommand> {
  const body = await jsonBody(request, MAX_COMMAND_BYTES);
  const { subject, issuer, email } = isObject(body) ? body : {};
  if (typeof email === 'string' && subject === undefined) return { email };
  if (typeof subject === 'string' && typeof issuer === 'string' && email === undefined) return { subject, issuer };
  throw new AdminRefusal(400, 'The body is not {"subject", "issuer"} or {"email"}.\n');
}
