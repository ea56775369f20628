import { isObject } from '../../core/lib/json/own-member.ts';
import { isAtOrBelow } from '../../core/lib/http/path-flaw.ts';
import { type AdminAnswer, type AdminPages, type AdminParts, AdminRefusal, json, jsonBody, send } from '../admin.ts';
import { approvalList, decideApproval, oneApproval, waitingApprovals } from './questions.ts';

/** Where operators see requests for approvals, and decide on them. */
const PATH = '/approvals';

const MAX_DECISION_BYTES = 1024;

/** What operators see of requests for approvals: by the token all of them, on the console those that wait. */
export function approvalPages({ source }: AdminParts): AdminPages {
  return {
    gets: new Map([
      ['/console/approvals', async (_, response) => json(response, await source.ask(waitingApprovals, undefined))],
    ]),
    withToken: (path) => (isAtOrBelow(path, PATH) ? answerAt(path.slice(PATH.length + 1), source) : undefined),
  };
}

/** GET lists the requests without arguments, GET of one shows it, and POST to it decides. */
function answerAt(id: string, source: AdminParts['source']): AdminAnswer {
  return async (request, response) => {
    if (request.method === 'GET' && id === '') return send(response, await source.ask(approvalList, undefined));
    if (request.method === 'GET') return send(response, await source.ask(oneApproval, id));
    if (request.method !== 'POST' || id === '')
      throw new AdminRefusal(405, '', { allow: id === '' ? 'GET' : 'GET, POST' });
    const body = await jsonBody(request, MAX_DECISION_BYTES);
    const decision = isObject(body) ? body['decision'] : undefined;
    if (decision !== 'approve' && decision !== 'deny' && decision !== 'withdraw')
      throw new AdminRefusal(400, 'The body is not {"decision": "approve" | "deny" | "withdraw"}.\n');
    send(response, await source.ask(decideApproval, { id, decision }));
  };
}
