/** @module The API for approvers, and a request as people, programs and `notify` get it, `docs/approvals.md`. */

import { parseToRewrite } from '../../core/lib/json/lossless.ts';
import { parsedJson } from '../../core/lib/json/parsed.ts';
import { scanJson } from '../../core/lib/json/scanner.ts';
import { decidedFrom, type KeptApproval } from './book.ts';
import type { ApprovalDecision } from '../operator-approvals.ts';
import type { Call } from '../../core/model/call.ts';
import type { Principal } from '../../core/model/principal.ts';
import { type Approvals, DecisionRefused } from './approvals.ts';

/** A request with all that its approval binds, for an approver. */
export function approvalView(approval: KeptApproval): Record<string, unknown> {
  const { id, status, createdAt, endsAt, digest, call, caller, because } = approval;
  const { arguments: args, unshown, ...rest } = call;
  return {
    id,
    status,
    created_at: new Date(createdAt).toISOString(),
    expires_at: new Date(endsAt).toISOString(),
    digest,
    call: {
      ...rest,
      ...(args !== undefined && { arguments: parseToRewrite(args) }),
      ...(unshown !== undefined && { unshown: parseToRewrite(unshown) }),
    },
    caller,
    because,
  };
}

/** A request for lists and `notify`: with what `shows` allows alone. */
export function shownView(approval: KeptApproval): Record<string, unknown> {
  const { unshown: _unshown, ...call } = approval.call;
  return approvalView({ ...approval, call });
}

/** A request by its id. @throws {DecisionRefused} 404 for one that is unknown to `reader`. */
export async function viewFor(
  approvals: Approvals,
  id: string,
  reader: Principal | 'operator',
): Promise<Record<string, unknown>> {
  const found = await approvals.find(id, reader);
  if (found === undefined) throw new DecisionRefused(404, 'no such request');
  return approvalView(found.approval);
}

interface ApiAnswer {
  readonly status: number;
  readonly body: unknown;
}

/** The longest body of a decision. */
export const MAX_DECISION_BYTES = 1024;

/**
 * Answers a request to the API for approvers, docs/approvals.md.
 *
 * @param base The path of the API.
 */
export async function answerApi(
  approvals: Approvals,
  base: string,
  { call, person, body }: { readonly call: Call; readonly person: Principal; readonly body: string },
): Promise<ApiAnswer> {
  const id = call.path.slice(base.length + 1);
  if (id === '') {
    if (call.method !== 'GET' && call.method !== 'HEAD') return { status: 405, body: { title: 'Method not allowed' } };
    return { status: 200, body: { approvals: (await approvals.list(person)).map(shownView) } };
  }
  try {
    if (call.method === 'POST') return { status: 200, body: await decided(approvals, { id, call, person, body }) };
    const found = await approvals.find(id, person);
    if (found === undefined) return refusal(new DecisionRefused(404, 'no such request'));
    const { id: own, status, expires_at, ...rest } = approvalView(found.approval);
    return {
      status: 200,
      body: found.isWhole ? { id: own, status, expires_at, ...rest } : { id: own, status, expires_at },
    };
  } catch (error) {
    if (error instanceof DecisionRefused) return refusal(error);
    throw error;
  }
}

const form = '{ "decision": "approve" | "deny" | "withdraw", "digest": "…" }';
const limits = { depth: 1, members: 2, keyLength: 64, foldedKeys: 256 };

async function decided(
  approvals: Approvals,
  {
    id,
    call,
    person,
    body,
  }: { readonly id: string; readonly call: Call; readonly person: Principal; readonly body: string },
): Promise<unknown> {
  // Before the form is judged: a stranger learns nothing of an id.
  const found = await approvals.find(id, person);
  if (found === undefined) throw new DecisionRefused(404, 'no such request');
  if (!found.isWhole) throw new DecisionRefused(403, 'another person has to decide on this call');
  // A page of another site can send other types without asking first.
  if (mediaTypeOf(call) !== 'application/json') throw new DecisionRefused(415, 'Content-Type is not application/json');
  const { decision, digest } = decisionIn(body);
  return approvalView((await approvals.decide(id, decision, person, digest)).approval);
}

function mediaTypeOf({ fields: { contentType } }: Call): string | undefined {
  return contentType?.split(';', 1)[0]?.trim().toLowerCase();
}

/** A decision that all parsers read alike. @throws {DecisionRefused} 400 */
function decisionIn(body: string): { readonly decision: ApprovalDecision; readonly digest: string } {
  try {
    scanJson(body, limits);
  } catch {
    throw new DecisionRefused(400, `the body is not ${form}, each member once`);
  }
  const { decision, digest, ...others } = Object(parsedJson(body)) as Record<string, unknown>;
  if (isDecision(decision) && typeof digest === 'string' && Object.keys(others).length === 0)
    return { decision, digest };
  throw new DecisionRefused(400, `the body is not ${form}`);
}

function isDecision(value: unknown): value is ApprovalDecision {
  return typeof value === 'string' && Object.hasOwn(decidedFrom, value);
}

const titles = {
  400: 'Bad request',
  415: 'Unsupported media type',
  403: 'Access denied',
  404: 'Not found',
  409: 'Conflict',
  410: 'Gone',
} as const;

function refusal({ status, message: detail }: DecisionRefused): ApiAnswer {
  return { status, body: { title: titles[status], status, detail } };
}

/** Whether an error is a decision that was not made. */
export function isDecisionRefused(error: unknown): error is DecisionRefused {
  return error instanceof DecisionRefused;
}
