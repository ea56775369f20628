import type { IncomingMessage, ServerResponse } from 'node:http';
import { isObject } from '../../core/lib/json/own-member.ts';
import type { RevokeCommand } from '../../ports/revocation.ts';
import {
  type AdminAnswer,
  type AdminPages,
  type AdminParts,
  AdminRefusal,
  type AdminSource,
  jsonBody,
  send,
} from '../admin.ts';
import { keptRevocations, lift, revoke } from './questions.ts';

const MAX_COMMAND_BYTES = 16 * 1024;

const PATH = '/revocations';

/** What commands name, besides the issuer. */
const commandNames: ReadonlySet<string> = new Set(['subject', 'client', 'subject client', 'actor', 'email']);

/**
 * Where operators revoke, and list what is kept: GET lists it, a JSON line each, POST revokes, and DELETE of an id
 * withdraws.
 */
export function revocationPages({ source }: AdminParts): AdminPages {
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method === 'GET') return list(response, source);
    if (request.method !== 'POST') throw new AdminRefusal(405, '', { allow: 'GET, POST' });
    send(response, await source.ask(revoke, await commandIn(request)));
  }

  const lifting =
    (id: string): AdminAnswer =>
    async (request, response) => {
      if (request.method !== 'DELETE') throw new AdminRefusal(405, '', { allow: 'DELETE' });
      send(response, await source.ask(lift, id));
    };

  return {
    withToken(path) {
      if (path === PATH) return answer;
      return path.startsWith(`${PATH}/`) ? lifting(path.slice(PATH.length + 1)) : undefined;
    },
  };
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
  const { issuer, ...others } = isObject(body) ? body : {};
  const { subject, client, actor, email, ...unknown } = others;
  const named = Object.entries({ subject, client, actor, email }).filter(([, text]) => text !== undefined);
  const names = named.map(([name]) => name).join(' ');
  const texts = issuer === undefined ? named : [...named, ['issuer', issuer] as const];
  if (
    commandNames.has(names) &&
    (issuer === undefined) === (names === 'email') &&
    texts.every(([, text]) => typeof text === 'string') &&
    Object.keys(unknown).length === 0
  )
    return Object.fromEntries(texts);
  const accepted =
    '{"subject", "issuer"}, {"client", "issuer"}, with "subject" or not, {"actor", "issuer"} or {"email"}';
  throw new AdminRefusal(400, `The body is not ${accepted}.\n`);
}
