import type { IncomingMessage, ServerResponse } from 'node:http';
import { isObject } from '../../core/lib/json/own-member.ts';
import { AdminRefusal } from './access.ts';
import type { ConsoleSource, OperatorAnswer } from '../../capabilities/console/process-source.ts';
import type { OperatorRevocations, RevokeCommand } from '../../core/model/revocation.ts';
import { json, jsonBody } from '../../capabilities/console/console.ts';

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
const LINES = 1_000;
const NO_REVOCATION = 'The gateway has no `revocation`: add `revocation: {}` to gateway.yaml, and restart it.\n';

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
  if (revocations === undefined) throw new AdminRefusal(404, NO_REVOCATION);
  if (request.method === 'GET') return list(response, revocations);
  if (request.method !== 'POST') throw new AdminRefusal(405, '', { allow: 'GET, POST' });
  const command = await commandIn(request);
  const until = new Date(Math.floor(Date.now() / 1000) * 1000).toISOString();
  const problem = await revocations.revoke(command);
  if (problem !== undefined) throw new AdminRefusal(422, `Not revoked: ${problem}.\n`);
  json(response, { status: 'revoked', until });
}

async function list(response: ServerResponse, revocations: OperatorRevocations): Promise<void> {
  response.writeHead(200, { 'content-type': 'application/x-ndjson' });
  let lines = '';
  let count = 0;
  for (const revocation of revocations.all()) {
    lines += `${JSON.stringify(revocation)}\n`;
    count += 1;
    if (count % LINES !== 0) continue;
    // A long list must not hold up requests, nor fill the memory.
    if (!response.write(lines)) await new Promise((resolve) => response.once('drain', resolve).once('close', resolve));
    lines = '';
    if (response.destroyed) return;
  }
  response.end(lines);
}

async function commandIn(request: IncomingMessage): Promise<RevokeCommand> {
  const body = await jsonBody(request, MAX_COMMAND_BYTES);
  const { subject, issuer, email } = isObject(body) ? body : {};
  if (typeof email === 'string' && subject === undefined) return { email };
  if (typeof subject === 'string' && typeof issuer === 'string' && email === undefined) return { subject, issuer };
  throw new AdminRefusal(400, 'The body is not {"subject", "issuer"} or {"email"}.\n');
}
