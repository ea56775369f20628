/**
 * @module Approvals: the stage that asks for one, and what people and operators decide, `docs/approvals.md`. It is
 * loaded only where `approvals` is configured.
 */

import { approvalsKey } from '../../policy-parts/approvals/key.ts';
import { hash, randomBytes } from 'node:crypto';
import { declaresBody } from '../../core/lib/http/header-fields.ts';
import { lengthPrefixed } from '../../core/lib/digest.ts';
import {
  type ApprovalBook,
  type ApprovalEvent,
  type ApprovalObserver,
  type ApprovalRequest,
  type ApprovalUse,
  type AskAnswer,
  type KeptApproval,
  MAX_REQUEST_BYTES,
} from './book.ts';
import type { ApprovalDecision } from '../operator-approvals.ts';
import type { NeededApproval } from '../../policy-parts/approvals/needed-approval.ts';
import type { Call } from '../../core/model/call.ts';
import type { CallOutcome, CountedCall } from '../../core/model/history.ts';
import { Denial, type ShadowDenial } from '../../core/model/denial.ts';
import type { Gate } from '../../core/model/gate.ts';
import type { Grant } from '../../core/model/grant.ts';
import { approvedDefinitions, definitionKey } from '../../mcp/definitions.ts';
import { isLockedKind, listedKinds, targetKinds } from '../../core/model/mcp.ts';
import type { TargetKind } from '../../core/model/mcp-method.ts';
import type { Principal } from '../../core/model/principal.ts';
import type { Route } from '../../core/model/route.ts';
import { boundCall } from './bound-call.ts';
import { reasons } from './reasons.ts';

interface ApprovalParts {
  readonly book: ApprovalBook;
  /** The URL of the API, without a trailing slash. */
  readonly url: string;
  readonly routes: readonly Route[];
  readonly observer: ApprovalObserver;
  readonly clock: () => number;
}

interface RouteParts {
  /** The gates after this one: no person is asked about a call that they refuse. */
  readonly later: () => readonly Gate[];
  /** The state that a client sends back after it was sent to the page. */
  readonly stateOf: (grant: Grant) => string;
}

/** A decision that was not made, and why. */
export class DecisionRefused extends Error {
  override readonly name = 'DecisionRefused';
  readonly status: 400 | 403 | 404 | 409 | 410 | 415;

  constructor(status: DecisionRefused['status'], message: string) {
    super(message);
    this.status = status;
  }
}

type Decider = Principal | 'operator';

/** The approvals of one configuration. */
export class Approvals {
  readonly #parts: ApprovalParts;
  readonly #routes: ReadonlyMap<string, Route>;

  constructor(parts: ApprovalParts) {
    this.#parts = parts;
    this.#routes = new Map(
      parts.routes.filter(({ policy }) => policy && approvalsKey.inPolicy(policy)).map((route) => [route.name, route]),
    );
  }

  /**
   * Takes the approval of a call that needs one.
   *
   * @throws {Denial} `approval.required` with the request, which is made if there is none, `approval.denied`,
   *   `approval.full`, `approval.body`, `approval.size`; or what rules over time refuse.
   */
  async ask(route: Route, call: Call, grant: Grant, { later, stateOf }: RouteParts): Promise<CountedCall | undefined> {
    const { principal, action, decision } = grant;
    if (principal === undefined) throw new TypeError(`route ${route.name}: no principal to approve for`);
    const needed = decision.plan && approvalsKey.inPlan(decision.plan)?.needed(principal, action.attempt);
    if (needed === undefined) return undefined;
    if (needed.isShadow) return new TakenApproval(undefined, () => {}, needed.denial);
    if (needed.denial.reason === 'approval.denied') throw Denial.of(needed.denial);
    const { attempt, body, continues } = action;
    if (attempt.kind === 'http' && body === undefined && declaresBody(call.fields)) {
      throw new Denial(reasons['approval.body'], 'a request with a body, which is not read here');
    }
    // What follows the handshake has no form that a person could have seen.
    if (route.upgrade !== undefined && call.fields.upgrade !== undefined)
      throw new Denial(reasons['approval.body'], 'a request for an upgrade, whose messages are not read here');
    // They judge an approved call again, after it is taken.
    if (continues === undefined) for (const gate of later()) await gate.judge?.(call, grant);
    const { issuer, subject, clientId: client } = principal;
    if (principal.callerKey === undefined) throw required(needed, 'the token names neither a subject nor a client');
    const { digest, shown } = boundCall(route, { call, action, needed, caller: { issuer, subject, client } });
    const request: ApprovalRequest = {
      id: randomBytes(16).toString('base64url'),
      call: shown,
      caller: { issuer, subject, client },
      ...(needed.asker !== undefined && { asker: needed.asker }),
      because: needed.because,
      digest,
      rules: needed.rules,
      identity: identityOf(route, needed, grant),
      createdAt: this.#parts.clock(),
      validMs: needed.validMs,
    };
    const bytes = Buffer.byteLength(JSON.stringify(request));
    if (bytes > MAX_REQUEST_BYTES)
      throw new Denial(reasons['approval.size'], `${bytes} bytes, of at most ${MAX_REQUEST_BYTES}`);
    const answer = await this.#parts.book.ask({
      request,
      owner: hash('sha256', principal.callerKey, 'base64url'),
      waitMs: needed.waitMs,
      continues,
    });
    return this.#answered(answer, needed, grant, stateOf);
  }

  #answered(answer: AskAnswer, needed: NeededApproval, grant: Grant, stateOf: RouteParts['stateOf']): CountedCall {
    if (answer.kind === 'full') throw new Denial(reasons['approval.full'], answer.detail);
    const { approval, kind } = answer;
    if (answer.isNew) this.#tell('requested', approval);
    if (kind === 'taken') {
      return new TakenApproval(approval.id, (use) => {
        if (use === 'used') this.#tell('used', { ...approval, status: 'used' });
        return this.#parts.book.settle(approval.call.route, approval.id, use);
      });
    }
    const { id, endsAt } = approval;
    const view = {
      id,
      url: `${this.#parts.url}/${id}`,
      expiresAt: endsAt,
      requestState: kind === 'waiting' && grant.action.asksByUrl ? stateOf(grant) : undefined,
    };
    if (kind === 'waiting') throw required(needed, 'it waits for a person', view);
    const { rule, because, tool } = needed.denial;
    const about = { rule, because, approval: view, tool };
    throw new Denial('approval.denied', 'a person denied this call', about);
  }

  /** Those that a person may decide, or all; without arguments. */
  async list(decider: Decider): Promise<readonly KeptApproval[]> {
    const all = await Promise.all([...this.#routes.keys()].map(async (name) => this.#parts.book.list(name)));
    const current = await Promise.all(all.flat().map(async (each) => this.#current(each)));
    return current.filter(
      (each) => each.status !== 'expired' && (decider === 'operator' || this.#mayDecide(each, decider)),
    );
  }

  /** A request that a person may see; undefined for any other. `isWhole`: they may decide it. */
  async find(id: string, decider: Decider): Promise<{ approval: KeptApproval; isWhole: boolean } | undefined> {
    const found = await Promise.all([...this.#routes.keys()].map(async (name) => this.#parts.book.find(name, id)));
    const kept = found.find((each) => each !== undefined);
    if (kept === undefined) return undefined;
    const approval = await this.#current(kept);
    if (decider === 'operator') return { approval, isWhole: true };
    const isVisible = this.#admits(approval, decider) || isSamePerson(approval, decider);
    return isVisible ? { approval, isWhole: this.#mayDecide(approval, decider) } : undefined;
  }

  /** Decides. @throws {DecisionRefused} */
  async decide(
    id: string,
    decision: ApprovalDecision,
    decider: Decider,
    digest?: string,
  ): Promise<{ approval: KeptApproval }> {
    const found = await this.find(id, decider);
    if (found === undefined) throw new DecisionRefused(404, 'no such request');
    const { approval, isWhole } = found;
    if (!isWhole) throw new DecisionRefused(403, 'another person has to decide on this call');
    if (digest !== undefined && digest !== approval.digest) throw new DecisionRefused(409, 'another call');
    if (approval.status === 'expired' || approval.status === 'used') throw new DecisionRefused(410, approval.status);
    const decided = await this.#parts.book.decide(approval.call.route, id, decision);
    if (decided === undefined) throw new DecisionRefused(410, 'expired');
    const { status } = decided.approval;
    if (!decided.isDone) {
      throw new DecisionRefused(status === 'expired' || status === 'used' ? 410 : 409, status);
    }
    const by = decider === 'operator' ? decider : (decider.subject ?? decider.clientId);
    this.#tell(
      ({ approve: 'approved', deny: 'denied', withdraw: 'withdrawn' } as const)[decision],
      decided.approval,
      by,
    );
    return { approval: decided.approval };
  }

  /** Tells of what has ended, and counts what waits. */
  async sweep(): Promise<void> {
    for (const name of this.#routes.keys()) {
      const { expired, waiting } = await this.#parts.book.sweep(name);
      for (const approval of expired) this.#tell('expired', approval);
      this.#parts.observer.waiting(name, waiting);
    }
  }

  /** A request whose entry, or whose locked definition, is another one by now has ended. */
  async #current(approval: KeptApproval): Promise<KeptApproval> {
    if (this.#neededFor(approval) !== undefined || approval.status === 'expired' || approval.status === 'used')
      return approval;
    await this.#parts.book.expire(approval.call.route, approval.id);
    return { ...approval, status: 'expired' };
  }

  #neededFor({ call, rules, identity }: KeptApproval): NeededApproval | undefined {
    const route = this.#routes.get(call.route);
    const needed = route?.policy && approvalsKey.inPolicy(route.policy)?.at(rules);
    if (route === undefined || needed === undefined) return undefined;
    return hash('sha256', lengthPrefixed([needed.identity, lockedIn(route, call)]), 'base64url') === identity
      ? needed
      : undefined;
  }

  #admits(approval: KeptApproval, person: Principal): boolean {
    return this.#neededFor(approval)?.admits(person, approval.asker) === true;
  }

  #mayDecide(approval: KeptApproval, person: Principal): boolean {
    const needed = this.#neededFor(approval);
    if (needed?.admits(person, approval.asker) !== true) return false;
    return needed.self || !isSamePerson(approval, person);
  }

  #tell(event: ApprovalEvent, approval: KeptApproval, by?: string): void {
    this.#parts.observer.event(event, approval, by);
  }
}

/** Whether a person is the caller, also with another client. */
function isSamePerson({ caller }: KeptApproval, { issuer, subject, clientId }: Principal): boolean {
  if (caller.issuer !== issuer) return false;
  return caller.subject === undefined ? caller.client === clientId : caller.subject === subject;
}

/** A request ends when this changes: the entries, and what a lock says of the definition. */
function identityOf(route: Route, needed: NeededApproval, { action: { attempt } }: Grant): string {
  const [target] = attempt.kind === 'mcp' ? attempt.targets : [];
  const call = { method: attempt.kind === 'mcp' ? (attempt.method.name ?? '') : '', name: target?.name };
  return hash('sha256', lengthPrefixed([needed.identity, lockedIn(route, call)]), 'base64url');
}

const kindOfMethod = new Map<string, TargetKind>(targetKinds.map((kind) => [listedKinds[kind].usedBy, kind]));

function lockedIn(route: Route, { method, name }: { method: string; name?: string | undefined }): string {
  const kind = kindOfMethod.get(method);
  const approved = approvedDefinitions.of(route);
  if (approved === undefined || name === undefined || !isLockedKind(kind)) return '';
  return approved.get(definitionKey({ kind, name }))?.sha256 ?? '';
}

function required({ denial }: NeededApproval, found: string, approval?: NonNullable<Denial['approval']>): Denial {
  const { reason, rule, because, tool } = denial;
  const about = { rule, because, approval, tool };
  return new Denial(reason, `wanted an approval of this call: ${found}`, about);
}

/** A call that took its approval, until it is settled. A class for the reason of `LedgerCall` (`history/count.ts`). */
class TakenApproval implements CountedCall {
  readonly id = randomBytes(16).toString('hex');
  readonly approval: string | undefined;
  readonly shadow: ShadowDenial | undefined;
  readonly #settle: (use: ApprovalUse) => void | Promise<void>;
  #isSettled = false;
  #settling: Promise<void> | undefined;

  /** @param approval Undefined in shadow mode, where `shadow` is the refusal. */
  constructor(approval: string | undefined, settle: (use: ApprovalUse) => void | Promise<void>, shadow?: ShadowDenial) {
    this.approval = approval;
    this.#settle = settle;
    this.shadow = shadow;
  }

  get settling(): Promise<void> | undefined {
    return this.#settling;
  }

  settle(outcome: CallOutcome, _why?: string, id = this.id): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    this.#settling = this.#settle(useBy(outcome, id))?.finally(() => {
      this.#settling = undefined;
    });
  }
}

function useBy(outcome: CallOutcome, id: string): ApprovalUse {
  if (outcome === 'unreached') return { unused: true };
  return outcome === 'waiting' ? { round: id } : 'used';
}
