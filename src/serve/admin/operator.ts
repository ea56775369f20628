import type { IncomingMessage, ServerResponse } from 'node:http';
import { isObject } from '../../core/lib/json/own-member.ts';
import { AdminRefusal } from './access.ts';
import type { ConsoleSource } from '../../capabilities/console/process-source.ts';
import type { OperatorAnswer } from '../../capabilities/operator-approvals.ts';
import type { RevokeCommand } from '../../core/model/revocation.ts';
import { jsonBody } from '../../capabilities/console/console.ts';

/** Where operators see requests for approvals, and decide on them. */
export const APPROVALS_PATH = '/approvals';

const MAX_DECISION_BYTES = 1024;

/**
 * Answers an operator: GET lists the requests without arguments, GET of one shows it, and POST to it decides.
 *
 * @throws {AdminRefusal}
 */
export async function answerApprovals(
  request: IncomingMessage,
  response: ServerResponse,
  { source, path }: { readonly source: ConsoleSource; readonly path: string },
): Promise<void> {
  const id = path.slice(APPROVALS_PATH.length + 1);
  if (request.method === 'GET' && id === '') return send(response, await source.ask('approvals', undefined));
  if (request.method === 'GET') return send(response, await source.ask('approval', id));
  if (request.method !== 'POST' || id === '')
    throw new AdminRefusal(405, '', { allow: id === '' ? 'GET' : 'GET, POST' });
  const body = await jsonBody(request, MAX_DECISION_BYTES);
  const decision = isObject(body) ? body['decision'] : undefined;
  if (decision !== 'approve' && decision !== 'deny' && decision !== 'withdraw')
    throw new AdminRefusal(400, 'The body is not {"decision": "approve" | "deny" | "withdraw"}.\n');
  send(response, await source.ask('decideApproval', { id, decision }));
}

function send(response: ServerResponse, { status, body }: OperatorAnswer): void {
  if (status !== 200) throw new AdminRefusal(status, `${body}\n`);
  response.writeHead(200, { 'content-type': 'application/json' }).end(body);
}

/** Where operators revoke, and list what is kept. */
export const REVOCATIONS_PATH = '/revocations';

const MAX_COMMAND_BYTES = 16 * 1024;

/**
 * Answers an operator: GET lists what is kept, a JSON line each, and POST revokes.
 *
 * @throws {AdminRefusal}
 */
export async function answerRevocations(
  request: IncomingMessage,
  response: ServerResponse,
  source: ConsoleSource,
): Promise<void> {
  if (request.method === 'GET') return list(response, source);
  if (request.method !== 'POST') throw new AdminRefusal(405, '', { allow: 'GET, POST' });
  send(response, await source.ask('revoke', await commandIn(request)));
}

/** A part at a time: a long list must not hold up requests, nor fill the memory. */
async function list(response: ServerResponse, source: ConsoleSource): Promise<void> {
  let part = await source.ask('revocations', 0);
  if (part.status !== 200) throw new AdminRefusal(part.status, `${part.body}\n`);
  response.writeHead(200, { 'content-type': 'application/x-ndjson' });
  while (part.next !== undefined) {
    if (!response.write(part.body))
      await new Promise((resolve) => response.once('drain', resolve).once('close', resolve));
    if (response.destroyed) return;
    part = await source.ask('revocations', part.next);
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
