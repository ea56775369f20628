import type { IncomingMessage, ServerResponse } from 'node:http';
import { isObject } from '../lib/json/own-member.ts';
import { AdminRefusal } from './access.ts';
import type { ConsoleSource, OperatorAnswer } from './console/process-source.ts';
import { operatorBody } from './operator-body.ts';

/** Where operators see requests for approvals, and decide on them. */
export const APPROVALS_PATH = '/approvals';

const MAX_BYTES = 1024;

/**
 * Answers an operator: GET lists the requests, and POST to one of them decides.
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
  if (request.method !== 'POST' || id === '') throw new AdminRefusal(405, '', { allow: id === '' ? 'GET' : 'POST' });
  const body = await operatorBody(request, MAX_BYTES);
  const decision = isObject(body) ? body['decision'] : undefined;
  if (decision !== 'approve' && decision !== 'deny' && decision !== 'withdraw')
    throw new AdminRefusal(400, 'The body is not {"decision": "approve" | "deny" | "withdraw"}.\n');
  send(response, await source.ask('decideApproval', { id, decision }));
}

function send(response: ServerResponse, { status, body }: OperatorAnswer): void {
  if (status !== 200) throw new AdminRefusal(status, `${body}\n`);
  response.writeHead(200, { 'content-type': 'application/json' }).end(body);
}
