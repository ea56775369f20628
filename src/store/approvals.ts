import {
  approvalBounds,
  type ApprovalBook,
  type ApprovalDecision,
  type ApprovalRequest,
  type ApprovalStatus,
  type ApprovalUse,
  type AskAnswer,
  type AskedCall,
  type DecidedApproval,
  decidedFrom,
  type KeptApproval,
  OVER_MS,
  type SweptApprovals,
} from '../model/approval-book.ts';
import { Denial } from '../model/denial.ts';
import { approvalScript } from './approval-script.ts';
import type { StoreConnection } from './connection.ts';
import { createScript, type Script } from './script.ts';
import { type Sealing, STORE_PREFIX } from './sealing.ts';

/** What a shared book is built from. */
interface SharedApprovalParts {
  readonly connection: StoreConnection;
  readonly sealing: Sealing;
  readonly bounds?: { readonly ofOwner: number; readonly ofAll: number; readonly bytes: number };
}

/** What the store says of one request. */
type Row = readonly [id: string, status: ApprovalStatus, ends: string, body: string, proof: string];

/** A decision of a person, sealed: a writer of the store can forge none. */
interface Proof {
  readonly digest: string;
  readonly identity: string;
  readonly usableUntil: number;
}

/** How many requests are read at once. */
const PAGE = 100;

/**
 * The book that replicas share. Each step is one script, and all keys of a route lie in one slot. What is kept is
 * sealed; states and times are readable.
 */
export class SharedApprovals implements ApprovalBook {
  readonly #parts: SharedApprovalParts;
  readonly #script: Script;

  constructor(parts: SharedApprovalParts) {
    this.#parts = parts;
    this.#script = createScript(parts.connection, 'approval', approvalScript);
  }

  async ask({ request, owner, waitMs, continues }: AskedCall): Promise<AskAnswer> {
    const { route } = request.call;
    const { sealing, bounds = approvalBounds } = this.#parts;
    const body = sealing.seal(this.#bodyPlace(route, request.id), JSON.stringify(request));
    const answer = (await this.#run(route, {
      op: 'ask',
      id: request.id,
      body,
      binding: this.#place(route, 'binding', `${request.digest} ${request.identity}`),
      owner: this.#place(route, 'owner', owner),
      waitMs,
      round: continues === undefined ? '' : this.#place(route, 'round', continues),
      overMs: OVER_MS,
      ...bounds,
    })) as readonly ['full', string] | readonly ['taken' | 'waiting' | 'denied', number, ...Row];
    if (answer[0] === 'full') return { kind: 'full', detail: answer[1] };
    const [kind, isNew, ...rest] = answer;
    const row: Row = rest;
    const approval = this.#opened(route, row);
    if (approval === undefined) throw new Denial('shared_store.unavailable', 'a request that no replica wrote');
    if (kind === 'taken' && !this.#isProved(approval, row[4])) {
      throw new Denial('shared_store.unavailable', 'an approval that no replica wrote');
    }
    return { kind, approval, isNew: isNew === 1 };
  }

  async settle(route: string, id: string, use: ApprovalUse): Promise<void> {
    if (use === 'used') return;
    const round = 'round' in use ? this.#place(route, 'round', use.round) : '';
    // A store that does not answer leaves the approval used: it must not pass twice.
    await this.#run(route, { op: 'settle', id, round, overMs: OVER_MS }).catch(() => {});
  }

  async decide(route: string, id: string, decision: ApprovalDecision): Promise<DecidedApproval | undefined> {
    const known = await this.find(route, id);
    if (known === undefined) return undefined;
    const { digest, identity, validMs } = known;
    // The clock of the store ends it; the proof outlives that by a day of difference between clocks at most.
    const proof: Proof = { digest, identity, usableUntil: Date.now() + validMs };
    const answer = (await this.#run(route, {
      op: 'decide',
      id,
      from: decidedFrom[decision],
      to: ({ approve: 'approved', deny: 'denied', withdraw: 'expired' } as const)[decision],
      validMs,
      overMs: OVER_MS,
      proof: this.#parts.sealing.seal(this.#proofPlace(route, id), JSON.stringify(proof)),
    })) as readonly [isDone: number, ...Row] | null;
    if (answer === null) return undefined;
    const [isDone, ...row] = answer;
    const approval = this.#opened(route, row);
    return approval && { approval, isDone: isDone === 1 };
  }

  async find(route: string, id: string): Promise<KeptApproval | undefined> {
    const row = (await this.#run(route, { op: 'find', id })) as Row | null;
    return row === null ? undefined : this.#opened(route, row);
  }

  async list(route: string): Promise<readonly KeptApproval[]> {
    const found: KeptApproval[] = [];
    for (let from = 0; ; from += PAGE) {
      const rows = (await this.#run(route, { op: 'list', from, to: from + PAGE - 1 })) as readonly Row[];
      found.push(...rows.flatMap((row) => this.#opened(route, row) ?? []));
      if (rows.length < PAGE) return found;
    }
  }

  async expire(route: string, id: string): Promise<void> {
    await this.#run(route, { op: 'expire', id, overMs: OVER_MS });
  }

  async sweep(route: string): Promise<SweptApprovals> {
    const [waiting, ...rows] = (await this.#run(route, { op: 'sweep', overMs: OVER_MS })) as readonly [
      number,
      ...Row[],
    ];
    return { expired: rows.flatMap((row) => this.#opened(route, row) ?? []), waiting };
  }

  #prefix(route: string): string {
    return `${STORE_PREFIX}${this.#parts.sealing.slot('approvals', route)}:`;
  }

  #place(route: string, kind: string, key: string): string {
    return this.#parts.sealing.place(`approval ${kind}`, `${route}\0${key}`).split(':').at(-1) ?? '';
  }

  #bodyPlace(route: string, id: string): string {
    return `${this.#prefix(route)}body:${id}`;
  }

  #proofPlace(route: string, id: string): string {
    return `${this.#prefix(route)}proof:${id}`;
  }

  #opened(route: string, [id, status, ends, body]: Row): KeptApproval | undefined {
    const text = this.#parts.sealing.open(this.#bodyPlace(route, id), body);
    return text === undefined ? undefined : { ...(JSON.parse(text) as ApprovalRequest), status, endsAt: Number(ends) };
  }

  #isProved({ id, digest, identity, call }: KeptApproval, sealed: string): boolean {
    const text = this.#parts.sealing.open(this.#proofPlace(call.route, id), sealed);
    if (text === undefined) return false;
    const proof = JSON.parse(text) as Proof;
    return proof.digest === digest && proof.identity === identity;
  }

  async #run(route: string, step: Readonly<Record<string, unknown>>): Promise<unknown> {
    try {
      return await this.#script([this.#prefix(route)], [JSON.stringify(step)]);
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      throw new Denial('shared_store.unavailable', message, { cause: error });
    }
  }
}
