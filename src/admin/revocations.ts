import type { IncomingMessage, ServerResponse } from 'node:http';
import { isObject } from '../lib/json/own-member.ts';
import type { OperatorRevocations, RevokeCommand } from '../model/revocation.ts';
import { AdminRefusal } from './access.ts';
import { json } from './console/console.ts';
import { operatorBody } from './operator-body.ts';

/** Where operators revoke, and list what is kept. */
export const REVOCATIONS_PATH = '/revocations';

const MAX_BYTES = 16 * 1024;
/** How many lines of a list are written at once. */
const LINES = 1_000;

/**
 * Answers an operator: GET lists what is kept, a JSON line each, and POST revokes.
 *
 * @throws {AdminRefusal}
 */
export async function answerRevocations(
  request: IncomingMessage,
  response: ServerResponse,
  revocations: OperatorRevocations | undefined,
): Promise<void> {
  if (revocations === undefined) throw new AdminRefusal(404, 'The gateway has no `revocation` in its configuration.\n');
  if (request.method === 'GET') return list(response, revocations);
  if (request.method !== 'POST') throw new AdminRefusal(405, '', { allow: 'GET, POST' });
  const problem = await revocations.revoke(await commandIn(request));
  if (problem !== undefined) throw new AdminRefusal(422, `Not revoked: ${problem}.\n`);
  json(response, { status: 'revoked' });
}

async function list(response: ServerResponse, revocations: OperatorRevocations): Promise<void> {
  response.writeHead(200, { 'content-type': 'application/x-ndjson' });
  let lines = '';
  let count = 0;
  for (const revocation of revocations.all()) {
    lines += `${JSON.stringify(revocation)}\n`;
    count += 1;
    if (count % LINES !== 0) continue;
    // oxlint-disable-next-line no-await-in-loop: a long list must not hold up requests, nor fill the memory
    if (!response.write(lines)) await new Promise((resolve) => response.once('drain', resolve).once('close', resolve));
    lines = '';
    if (response.destroyed) return;
  }
  response.end(lines);
}

async function commandIn(request: IncomingMessage): Promise<RevokeCommand> {
  const body = await operatorBody(request, MAX_BYTES);
  const { subject, issuer, email } = isObject(body) ? body : {};
  if (typeof email === 'string' && subject === undefined) return { email };
  if (typeof subject === 'string' && typeof issuer === 'string' && email === undefined) return { subject, issuer };
  throw new AdminRefusal(400, 'The body is not {"subject", "issuer"} or {"email"}.\n');
}
