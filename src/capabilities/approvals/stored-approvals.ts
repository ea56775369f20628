import type { Clock } from '../../core/lib/clock.ts';
import {
  approvalBounds,
  type ApprovalBook,
  type ApprovalBounds,
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
  withoutArguments,
} from './book.ts';
import type { ApprovalDecision } from '../operator-approvals.ts';
import { Denial } from '../../core/model/denial.ts';
import { approvalScript } from './approval-script.ts';
import {
  createScript,
  type Script,
  type Sealing,
  STORE_PREFIX,
  type StoreConnection,
  storeDenial,
} from '../../ports/store.ts';
import { seenIn } from '../../tokens/replay-memory.ts';
import type { LocalReplayMemory } from '../../ports/shared.ts';

interface SharedApprovalParts {
  readonly connection: StoreConnection;
  readonly sealing: Sealing;
  readonly clock: Clock;
  /** The proofs that this process saw used or withdrawn: the store may forget that, or a writer of it. */
  readonly spent: LocalReplayMemory;
  /** Called with the place of a value that no replica wrote, or not for what it was found for. */
  readonly onCorrupt: (place: string) => void;
  readonly bounds?: ApprovalBounds;
}

type ApprovalRow = readonly [id: string, status: ApprovalStatus, ends: string, body: string, proof: string];
type AskReply =
  | readonly ['full', string]
  | readonly ['spent']
  | readonly ['taken' | 'again' | 'waiting' | 'denied', number, ...ApprovalRow];

/**
 * A decision of a person, or the permission for the next round of a call, sealed: a writer of the store can forge
 * none. Each is used once.
 */
interface Proof {
  readonly digest: string;
  readonly identity: string;
  /** By the clock of the replica that sealed it. */
  readonly usableUntil: number;
}

/** The owner of what this process remembers as withdrawn. */
const WITHDRAWN = 'withdrawn';
/** How far the clocks of two replicas may differ. */
const SKEW_MS = 60_000;
/** The requests and the bytes in a page of a list: a step of the store must not take long. */
const PAGE = 100;
const PAGE_BYTES = 64 * 1024;

/**
 * The book that replicas share. Each step is one script, and all keys of a route lie in one slot. A writer of the store
 * can change states and times. A call passes only by what is sealed, made for this very call, and unused.
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
    const { id } = request;
    const { bounds = approvalBounds } = this.#parts;
    const sealed = [
      this.#seal(this.#place(route, 'head', id), withoutArguments(request)),
      this.#seal(this.#place(route, 'body', id), request),
    ];
    const step = {
      op: 'ask',
      id,
      binding: this.#digest(route, 'binding', `${request.digest} ${request.identity}`),
      owner: this.#digest(route, 'owner', owner),
      waitMs,
      round: continues === undefined ? '' : this.#digest(route, 'round', continues),
      overMs: OVER_MS,
      ...bounds,
    };
    const reply = (await this.#run(route, step, sealed)) as AskReply;
    if (reply[0] === 'full') return { kind: 'full', detail: reply[1] };
    if (reply[0] === 'spent') throw this.#corrupt(route, 'an approval that was used, withdrawn or ended before');
    const [kind, isNew, ...rest] = reply;
    const row: ApprovalRow = rest;
    const approval = this.#opened(route, row);
    if (approval === undefined) throw this.#corrupt(route, 'a request that no replica wrote');
    if (whatIsBound(approval) !== whatIsBound(request)) throw this.#corrupt(route, 'the request of another call');
    if (kind === 'waiting' || kind === 'denied') return { kind, approval, isNew: isNew === 1 };
    const place = kind === 'taken' ? this.#proofPlace(route, approval.id) : this.#roundPlace(route, continues ?? '');
    this.#spend(route, { place, approval, sealed: row[4], owner });
    return { kind: 'taken', approval, isNew: false };
  }

  async settle(route: string, id: string, use: ApprovalUse): Promise<void> {
    if (use === 'used') return;
    // A store that does not answer leaves the approval used: it must not pass twice.
    await this.#settle(route, id, use).catch(() => {});
  }

  async decide(route: string, id: string, decision: ApprovalDecision): Promise<DecidedApproval | undefined> {
    const known = await this.#row(route, id);
    const request = known && this.#opened(route, known);
    if (request === undefined) return undefined;
    const { digest, identity, validMs } = request;
    const from = decidedFrom[decision];
    // A proof is made only where it is meant: what the store is sent, its readers have.
    const isApproved = decision === 'approve' && from.includes(request.status);
    const proof: Proof = { digest, identity, usableUntil: this.#parts.clock() + validMs };
    const answer = (await this.#run(route, {
      op: 'decide',
      id,
      from: decision === 'approve' && !isApproved ? [] : from,
      to: ({ approve: 'approved', deny: 'denied', withdraw: 'expired' } as const)[decision],
      validMs,
      overMs: OVER_MS,
      proof: isApproved ? this.#seal(this.#proofPlace(route, id), proof) : '',
    })) as readonly [isDone: number, ...ApprovalRow] | null;
    if (answer === null) return undefined;
    const [isDone, ...row] = answer;
    if (isDone === 1 && decision === 'withdraw')
      this.#isFirst(row[4], this.#parts.clock() + validMs + SKEW_MS, WITHDRAWN);
    const approval = this.#opened(route, row);
    return approval && { approval, isDone: isDone === 1 };
  }

  async find(route: string, id: string): Promise<KeptApproval | undefined> {
    const row = await this.#row(route, id);
    return row && this.#opened(route, row);
  }

  async list(route: string): Promise<readonly KeptApproval[]> {
    const found: KeptApproval[] = [];
    for (let from = 0; ;) {
      const step = { op: 'list', from, page: PAGE, pageBytes: PAGE_BYTES };
      const [end, ...rows] = (await this.#run(route, step)) as readonly [number, ...ApprovalRow[]];
      found.push(...rows.flatMap((row) => this.#opened(route, row, 'head') ?? []));
      if (end < 0) return found;
      from = end;
    }
  }

  async expire(route: string, id: string): Promise<void> {
    await this.#run(route, { op: 'expire', id, overMs: OVER_MS });
  }

  async sweep(route: string): Promise<SweptApprovals> {
    const step = { op: 'sweep', overMs: OVER_MS };
    const [waiting, ...ids] = (await this.#run(route, step)) as readonly [number, ...string[]];
    const expired: KeptApproval[] = [];
    for (const id of ids) {
      const approval = await this.find(route, id);
      if (approval !== undefined) expired.push(approval);
    }
    return { expired, waiting };
  }

  async #settle(route: string, id: string, use: Exclude<ApprovalUse, 'used'>): Promise<void> {
    const row = await this.#row(route, id);
    const request = row && this.#opened(route, row);
    if (request === undefined) return;
    const { digest, identity } = request;
    const step = { op: 'settle', id, overMs: OVER_MS };
    if ('round' in use) {
      const proof: Proof = { digest, identity, usableUntil: this.#parts.clock() + OVER_MS };
      const sealed = this.#seal(this.#roundPlace(route, use.round), proof);
      await this.#run(route, { ...step, round: this.#digest(route, 'round', use.round), proof: sealed });
      return;
    }
    // The proof that was taken is spent. The next one is as good, and no longer.
    const place = this.#proofPlace(route, id);
    const proof = this.#proof(place, row?.[4] ?? '');
    if (proof !== undefined) await this.#run(route, { ...step, round: '', proof: this.#seal(place, proof) });
  }

  /** @throws {Denial} for a proof of another call, one that has ended, and one that was used. */
  #spend(
    route: string,
    taken: { readonly place: string; readonly approval: KeptApproval; readonly sealed: string; readonly owner: string },
  ): void {
    const proof = this.#proof(taken.place, taken.sealed);
    if (proof?.digest !== taken.approval.digest || proof.identity !== taken.approval.identity)
      throw this.#corrupt(route, 'an approval that no replica wrote');
    const ends = proof.usableUntil + SKEW_MS;
    if (ends < this.#parts.clock()) throw this.#corrupt(route, 'an approval whose time is over');
    if (!this.#isFirst(taken.sealed, ends, taken.owner)) throw this.#corrupt(route, 'an approval that was used before');
  }

  #isFirst(sealed: string, ends: number, owner: string): boolean {
    return sealed === '' || !seenIn(this.#parts.spent, `approval ${sealed}`, ends, owner);
  }

  #corrupt(route: string, what: string): Denial {
    this.#parts.onCorrupt(this.#prefix(route));
    return new Denial('shared_store.unavailable', `the shared store holds ${what}`);
  }

  #prefix(route: string): string {
    return `${STORE_PREFIX}${this.#parts.sealing.slot('approvals', route)}:`;
  }

  #digest(route: string, kind: string, key: string): string {
    return this.#parts.sealing.place(`approval ${kind}`, `${route}\0${key}`).split(':').at(-1) ?? '';
  }

  #place(route: string, kind: 'head' | 'body' | 'proof' | 'round', id: string): string {
    return `${this.#prefix(route)}${kind}:${id}`;
  }

  #proofPlace(route: string, id: string): string {
    return this.#place(route, 'proof', id);
  }

  #roundPlace(route: string, round: string): string {
    return this.#place(route, 'round', this.#digest(route, 'round', round));
  }

  #seal(place: string, value: unknown): string {
    return this.#parts.sealing.seal(place, JSON.stringify(value));
  }

  #proof(place: string, sealed: string): Proof | undefined {
    const text = this.#parts.sealing.open(place, sealed);
    return text === undefined ? undefined : (JSON.parse(text) as Proof);
  }

  #opened(route: string, row: ApprovalRow, part: 'head' | 'body' = 'body'): KeptApproval | undefined {
    const [id, status, ends, sealed] = row;
    const place = this.#place(route, part, id);
    const text = this.#parts.sealing.open(place, sealed);
    if (text !== undefined) return { ...(JSON.parse(text) as ApprovalRequest), status, endsAt: Number(ends) };
    this.#parts.onCorrupt(place);
    return undefined;
  }

  async #row(route: string, id: string): Promise<ApprovalRow | undefined> {
    return ((await this.#run(route, { op: 'find', id })) as ApprovalRow | null) ?? undefined;
  }

  async #run(route: string, step: Readonly<Record<string, unknown>>, sealed: readonly string[] = []): Promise<unknown> {
    const answer = await this.#script([this.#prefix(route)], [JSON.stringify(step), ...sealed]).catch(
      (error: unknown) => {
        throw storeDenial(error);
      },
    );
    const [foreign, reply] = answer as readonly [number, unknown?];
    if (foreign > 0) this.#parts.onCorrupt(this.#prefix(route));
    return reply;
  }
}

/** Everything that an approval is bound to, as text. */
function whatIsBound({ digest, identity, rules, caller, call }: ApprovalRequest): string {
  const { issuer, subject, client } = caller;
  return JSON.stringify([digest, identity, rules, issuer, subject, client, call.route, call.method]);
}
