import type { Clock } from '../../core/lib/clock.ts';
import { OwnerCounts } from '../../core/lib/fair-share.ts';
import {
  approvalBounds,
  type ApprovalBook,
  type ApprovalBounds,
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

interface RequestRecord {
  approval: KeptApproval;
  readonly owner: string;
  readonly bytes: number;
  /** When an approval ends that was not used. */
  usableUntil: number;
}

interface Round {
  readonly id: string;
  readonly endsAt: number;
}

const MAX_OVER = 1_000;

/** The book of one process, which answers synchronously: its steps are atomic. */
export class MemoryApprovals implements ApprovalBook {
  readonly #clock: Clock;
  readonly #bounds: ApprovalBounds;
  /** By id; those that are over too. */
  readonly #kept = new Map<string, RequestRecord>();
  readonly #live = new Map<string, RequestRecord>();
  readonly #owned = new OwnerCounts();
  readonly #bytesOwned = new OwnerCounts();
  readonly #rounds = new Map<string, Round>();
  #bytes = 0;
  #expired: KeptApproval[] = [];

  constructor(clock: Clock, bounds = approvalBounds) {
    this.#clock = clock;
    this.#bounds = bounds;
  }

  ask({ request, owner, waitMs, continues }: AskedCall): AskAnswer {
    this.#endLate();
    const again = continues === undefined ? undefined : this.#takeRound(continues, request);
    if (again !== undefined) return { kind: 'taken', approval: again, isNew: false };
    const known = this.#live.get(bindingOf(request));
    if (known?.approval.status === 'approved') {
      this.#change(known, 'used', this.#clock() + OVER_MS);
      return { kind: 'taken', approval: known.approval, isNew: false };
    }
    if (known !== undefined) {
      const kind = known.approval.status === 'denied' ? 'denied' : 'waiting';
      return { kind, approval: known.approval, isNew: false };
    }
    const bytes = Buffer.byteLength(JSON.stringify(request));
    const full = this.#fullFor(owner, bytes);
    if (full !== undefined) return { kind: 'full', detail: full };
    const approval: KeptApproval = { ...request, status: 'pending', endsAt: this.#clock() + waitMs };
    this.#keep({ approval, owner, bytes, usableUntil: 0 });
    return { kind: 'waiting', approval, isNew: true };
  }

  settle(_route: string, id: string, use: ApprovalUse): void {
    const kept = this.#kept.get(id);
    if (use === 'used' || kept?.approval.status !== 'used') return;
    if ('round' in use) {
      this.#rounds.set(use.round, { id, endsAt: this.#clock() + OVER_MS });
      return;
    }
    const newer = this.#live.get(bindingOf(kept.approval));
    if (newer !== undefined) this.#end(newer);
    this.#kept.delete(id);
    this.#keep({ ...kept, approval: { ...kept.approval, status: 'approved', endsAt: kept.usableUntil } });
  }

  decide(_route: string, id: string, decision: ApprovalDecision): DecidedApproval | undefined {
    this.#endLate();
    const kept = this.#kept.get(id);
    if (kept === undefined) return undefined;
    const isDone = decidedFrom[decision].includes(kept.approval.status);
    if (isDone && decision === 'approve') {
      kept.usableUntil = this.#clock() + kept.approval.validMs;
      this.#change(kept, 'approved', kept.usableUntil);
    } else if (isDone && decision === 'deny') this.#change(kept, 'denied', kept.approval.endsAt);
    else if (isDone) this.#change(kept, 'expired', this.#clock() + OVER_MS);
    return { approval: kept.approval, isDone };
  }

  find(_route: string, id: string): KeptApproval | undefined {
    this.#endLate();
    return this.#kept.get(id)?.approval;
  }

  list(route: string): readonly KeptApproval[] {
    this.#endLate();
    return this.#ofRoute(route).map(({ approval }) => withoutArguments(approval));
  }

  expire(_route: string, id: string): void {
    const kept = this.#kept.get(id);
    if (kept !== undefined && isLive(kept.approval.status)) this.#end(kept);
  }

  sweep(route: string): SweptApprovals {
    this.#endLate();
    const expired = this.#expired.filter(({ call }) => call.route === route);
    this.#expired = this.#expired.filter(({ call }) => call.route !== route);
    return { expired, waiting: this.#ofRoute(route).filter(({ approval }) => approval.status === 'pending').length };
  }

  #ofRoute(route: string): readonly RequestRecord[] {
    return [...this.#live.values()].filter(({ approval }) => approval.call.route === route);
  }

  /** Used for the rounds of one call, each once. */
  #takeRound(continues: string, { digest, identity }: AskedCall['request']): KeptApproval | undefined {
    const round = this.#rounds.get(continues);
    const approval = round && this.#kept.get(round.id)?.approval;
    if (approval?.digest !== digest || approval.identity !== identity) return undefined;
    this.#rounds.delete(continues);
    return approval;
  }

  #fullFor(owner: string, bytes: number): string | undefined {
    const { ofOwner, ofAll, bytesOfOwner, bytes: most } = this.#bounds;
    if (this.#owned.of(owner) >= ofOwner) return `${ofOwner} of this caller are kept`;
    const own = this.#bytesOwned.of(owner);
    if (own + bytes > bytesOfOwner) return `${own} bytes of this caller are kept`;
    if (this.#live.size >= ofAll) return `${ofAll} are kept`;
    return this.#bytes + bytes > most ? `${most} bytes are kept` : undefined;
  }

  #keep(kept: RequestRecord): void {
    this.#kept.set(kept.approval.id, kept);
    this.#live.set(bindingOf(kept.approval), kept);
    this.#owned.add(kept.owner, 1);
    this.#bytesOwned.add(kept.owner, kept.bytes);
    this.#bytes += kept.bytes;
  }

  #end(kept: RequestRecord): void {
    const { status } = kept.approval;
    this.#change(kept, 'expired', this.#clock() + OVER_MS);
    if (status !== 'denied' && this.#expired.length < approvalBounds.ofAll) this.#expired.push(kept.approval);
  }

  #change(kept: RequestRecord, status: ApprovalStatus, endsAt: number): void {
    kept.approval = { ...kept.approval, status, endsAt };
    if (isLive(status)) return;
    this.#live.delete(bindingOf(kept.approval));
    this.#bytes -= kept.bytes;
    this.#owned.add(kept.owner, -1);
    this.#bytesOwned.add(kept.owner, -kept.bytes);
    // The newest are last.
    this.#kept.delete(kept.approval.id);
    this.#kept.set(kept.approval.id, kept);
    const over = this.#kept.size - this.#live.size - MAX_OVER;
    if (over <= 0) return;
    for (const [id, { approval }] of this.#kept) {
      if (isLive(approval.status)) continue;
      this.#kept.delete(id);
      break;
    }
  }

  #endLate(): void {
    const now = this.#clock();
    for (const kept of this.#kept.values()) {
      if (kept.approval.endsAt > now) continue;
      if (isLive(kept.approval.status)) this.#end(kept);
      else this.#kept.delete(kept.approval.id);
    }
    for (const [id, { endsAt }] of this.#rounds) if (endsAt <= now) this.#rounds.delete(id);
  }
}

/** Whether a request counts: until it is used, or has ended. */
function isLive(status: ApprovalStatus): boolean {
  return status !== 'used' && status !== 'expired';
}

/** The parts of which no two live requests have the same. */
function bindingOf({ digest, identity }: Pick<KeptApproval, 'digest' | 'identity'>): string {
  return `${digest} ${identity}`;
}
