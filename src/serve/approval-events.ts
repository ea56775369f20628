import type { LazyApprovals } from './gateway/approvals.ts';
import type { ApprovalEvent, ApprovalObserver, KeptApproval } from '../model/approval-book.ts';
import type { ApprovalSettings } from '../model/config.ts';
import type { WaitingApprovals } from '../admin/console/messages.ts';
import type { OperatorAnswer, OperatorApprovals } from '../admin/console/process-source.ts';
import type { Events } from '../model/events.ts';
import type { Notifier } from '../pipeline/approve/notifier.ts';
import type { Log } from '../telemetry/log.ts';

/** How many waiting requests the console shows. */
const MAX_SHOWN = 20;
/** How often the gateway looks for requests that have ended. */
const SWEEP_MS = 1_000;

type ApprovalsPart = typeof import('../pipeline/approve/approvals.ts');
type Loaded = Awaited<ReturnType<LazyApprovals>>;
type ApprovalMetrics = Pick<Events, 'approval' | 'approvalsWaiting' | 'approvalNotificationLost'>;

/** What happens to approvals: for the log, metrics, and `approvals.notify`. It follows the newest configuration. */
export class ApprovalEvents implements ApprovalObserver {
  readonly #log: Pick<Log, 'event'>;
  readonly #metrics: ApprovalMetrics;
  #approvals: LazyApprovals | undefined;
  #settings: ApprovalSettings | undefined;
  #notifier: Promise<Notifier> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isSweeping = false;

  constructor(log: Pick<Log, 'event'>, metrics: ApprovalMetrics) {
    this.#log = log;
    this.#metrics = metrics;
  }

  event(...[event, approval, by]: Parameters<ApprovalObserver['event']>): void {
    const { id, call, caller } = approval;
    this.#metrics.approval(call.route, event);
    this.#log.event('info', 'approval', {
      event,
      approval: id,
      route: call.route,
      subject: caller.subject,
      client_id: caller.client,
      by,
    });
    if (this.#settings?.notify !== undefined) void this.#notify(this.#settings, event, approval);
  }

  waiting(route: string, count: number): void {
    this.#metrics.approvalsWaiting(route, count);
  }

  /** Follows another configuration. */
  use(settings: ApprovalSettings | undefined, approvals: LazyApprovals | undefined): void {
    if (
      settings?.notify?.url !== this.#settings?.notify?.url ||
      settings?.notify?.secret !== this.#settings?.notify?.secret
    )
      this.#closeNotifier();
    this.#settings = settings;
    this.#approvals = approvals;
    clearInterval(this.#timer);
    this.#timer = approvals && setInterval(() => void this.#sweep(), SWEEP_MS).unref();
  }

  /** What the operator sees and decides; undefined: no approvals are configured. */
  operator(): OperatorApprovals | undefined {
    const approvals = this.#approvals;
    if (approvals === undefined) return undefined;
    const answer = async (act: (part: ApprovalsPart, loaded: Loaded) => Promise<unknown>): Promise<OperatorAnswer> => {
      const part = await import('../pipeline/approve/approvals.ts');
      try {
        return { status: 200, body: JSON.stringify(await act(part, await approvals())) };
      } catch (error) {
        if (error instanceof part.DecisionRefused) return { status: error.status, body: error.message };
        return { status: 503, body: error instanceof Error ? error.message : String(error) };
      }
    };
    return {
      list: () =>
        answer(async ({ approvalView }, loaded) => ({ approvals: (await loaded.list('operator')).map(approvalView) })),
      async waiting() {
        try {
          const all = (await (await approvals()).list('operator')).filter(({ status }) => status === 'pending');
          return { count: all.length, oldest: all.slice(0, MAX_SHOWN).map(briefly) };
        } catch (error) {
          return { count: 0, oldest: [], problem: error instanceof Error ? error.message : String(error) };
        }
      },
      decide: (id, decision) =>
        answer(async ({ approvalView }, loaded) =>
          approvalView((await loaded.decide(id, decision, 'operator')).approval),
        ),
    };
  }

  close(): void {
    clearInterval(this.#timer);
    this.#closeNotifier();
  }

  async #sweep(): Promise<void> {
    if (this.#isSweeping) return;
    this.#isSweeping = true;
    try {
      await (await this.#approvals?.())?.sweep();
    } catch {
      // The store does not answer; the log has that already.
    } finally {
      this.#isSweeping = false;
    }
  }

  async #notify(settings: ApprovalSettings, event: ApprovalEvent, approval: KeptApproval): Promise<void> {
    const opening = (this.#notifier ??= this.#openNotifier(settings));
    try {
      (await opening).send(event, approval);
    } catch (error) {
      // The next event opens it again.
      if (this.#notifier === opening) this.#notifier = undefined;
      this.#lost(event, String(error));
    }
  }

  async #openNotifier(settings: ApprovalSettings): Promise<Notifier> {
    const { Notifier: Opened } = await import('../pipeline/approve/notifier.ts');
    return new Opened(settings, (event, why) => this.#lost(event, why));
  }

  #lost(event: ApprovalEvent, why: string): void {
    this.#metrics.approvalNotificationLost(event);
    this.#log.event('warn', 'approval notification lost', { event, why });
  }

  #closeNotifier(): void {
    this.#notifier?.then(
      (notifier) => notifier.close(),
      () => {},
    );
    this.#notifier = undefined;
  }
}

/** A request without the arguments and the query of its call. */
function briefly({ id, call, caller, createdAt, endsAt }: KeptApproval): WaitingApprovals['oldest'][number] {
  const { route, method, name, path } = call;
  const called = name ?? (path === undefined ? method : `${method} ${path.split('?', 1)[0]}`);
  return { id, route, called, subject: caller.subject, client: caller.client, createdAt, endsAt };
}
