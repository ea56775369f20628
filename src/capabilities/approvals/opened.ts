/**
 * Approvals as a route of the gateway: the API for approvers, and the stage of other routes.
 *
 * @module
 */

import { approvalsKey } from '../../policy-parts/approvals/key.ts';
import type { Clock } from '../../core/lib/clock.ts';
import { createQuota } from '../../core/lib/fair-share.ts';
import type { ApprovalBook, ApprovalEvent, ApprovalObserver, KeptApproval } from './book.ts';
import { type ApprovalSettings, approvalSettings } from '../../ports/approval-settings.ts';
import { Denial } from '../../core/model/denial.ts';
import { FRONT_DOOR } from '../../ports/front-door.ts';
import { readBody } from '../../core/gateway/listen/body.ts';
import { answer } from '../../core/gateway/respond/answer.ts';
import type { OperatorAnswer } from '../admin.ts';
import type { WaitingApprovals } from '../operator-approvals.ts';
import type { OperatorApprovals } from './questions.ts';
import type { Gate } from '../../core/model/gate.ts';
import type { Route } from '../../core/model/route.ts';
import type { Endpoint } from '../../core/model/endpoint.ts';
import type { ConfigParts, InProcess, OwnEndpoint, PersonPage, ProcessParts } from '../capability.ts';
import { answerApi, approvalView, isDecisionRefused, MAX_DECISION_BYTES, shownView, viewFor } from './api.ts';
import { Approvals } from './approvals.ts';
import { MemoryApprovals } from './memory-approvals.ts';
import type { Notifier } from './notifier.ts';
import { SharedApprovals } from './stored-approvals.ts';
import { reasons } from './reasons.ts';
import { madeFor } from '../../ports/store.ts';
import { createReplayMemory } from '../../tokens/replay-memory.ts';
import { messageOf } from '../../core/lib/wording.ts';

/** Approvals in a process. */
interface OpenApprovals extends InProcess {
  /** What the operator sees and decides; undefined: the newest configuration has none. */
  operator(): OperatorApprovals | undefined;
}

export function openApprovals({ log, meters, store, clock, showPage }: ProcessParts): OpenApprovals {
  const observer = new ApprovalEvents(log, meters);
  const book = createBook(store, clock);
  return {
    open({ config }) {
      const settings = approvalSettings.of(config);
      const { routes, frontDoor } = config;
      if (settings === undefined) return { of: () => ({}), start: () => observer.use(undefined) };
      const approvals = new Approvals({ book, observer, clock, url: settings.url, routes });
      return {
        of: (route, parts) =>
          route.policy && approvalsKey.inPolicy(route.policy) ? { gate: approvalGate(route, approvals, parts) } : {},
        endpoints: [createApprovalEndpoint(settings.route, { approvals, frontDoor, showPage })],
        start: () => observer.use({ settings, approvals }),
      };
    },
    operator: () => observer.operator(),
    close: () => observer.close(),
  };
}

/** Creates the book of a process: in the store of the newest configuration, or else in the memory of this process. */
export function createBook(store: ProcessParts['store'], clock: Clock): ApprovalBook {
  const spent = createReplayMemory(clock);
  const local = new MemoryApprovals(clock);
  const shared = madeFor(store, ({ connection, sealing, onCorrupt }) => {
    const noted = (place: string): void => onCorrupt(place, 'approval');
    return new SharedApprovals({ connection, sealing, clock, spent, onCorrupt: noted });
  });
  const book = (): ApprovalBook => shared() ?? local;
  return {
    ask: (...about) => book().ask(...about),
    settle: (...about) => book().settle(...about),
    decide: (...about) => book().decide(...about),
    find: (...about) => book().find(...about),
    list: (...about) => book().list(...about),
    expire: (...about) => book().expire(...about),
    sweep: (...about) => book().sweep(...about),
  };
}

/** The gate of a route whose policy wants approvals. */
function approvalGate(route: Route, approvals: Approvals, parts: Parameters<Approvals['ask']>[3]): Gate {
  const enter: Gate['enter'] = (call, grant) => approvals.ask(route, call, grant, parts);
  if (route.protocol === 'mcp') return { enter };
  // The body of an HTTP request, which no question shows, would be approved unseen.
  const ofQuestions: Gate = {
    enter(call, grant) {
      const { principal, action, decision } = grant;
      const needed =
        principal && decision.plan && approvalsKey.inPlan(decision.plan)?.needed(principal, action.attempt);
      if (needed === undefined || needed.isShadow) return enter(call, grant);
      throw new Denial(
        reasons['approval.body'],
        'the question of a proxy does not show whether the request has a body',
      );
    },
  };
  return { enter, ofQuestions };
}

interface ApiParts {
  readonly approvals: Approvals;
  readonly frontDoor: ConfigParts['config']['frontDoor'];
  readonly showPage: ProcessParts['showPage'];
}

/** The API for approvers, which the gateway itself answers. */
function createApprovalEndpoint(endpoint: Endpoint, { approvals, frontDoor, showPage }: ApiParts): OwnEndpoint {
  const room = createQuota(1024 * 1024);
  const hasPage = endpoint.authorizationServers.some(({ name }) => name === FRONT_DOOR);
  return {
    endpoint,
    /** Leads a person to the pages of the front door, or says how the call is decided without one. */
    receive(call) {
      const isPage = call.request.headers.accept?.includes('text/html') === true;
      if (call.fields.authorization !== undefined || !isPage || call.method !== 'GET') return false;
      const id = call.path.slice(endpoint.path.length + 1);
      if (!/^[\w-]{0,64}$/.test(id)) return false;
      if (!hasPage || frontDoor === undefined) {
        void showPage(call, howDecidedPage(id)).catch(() => call.response.destroy());
        return true;
      }
      const place = id === '' ? 'approvals' : `approval/${id}`;
      answer(call, 303, { Location: `${frontDoor.issuer}/${place}`, 'Cache-Control': 'no-store' });
      return true;
    },
    read: async (call) => (call.method === 'POST' ? readBody(call, MAX_DECISION_BYTES, room) : Buffer.alloc(0)),
    async answer({ call, grant: { principal, action } }, ofOrigin) {
      if (principal === undefined) throw new TypeError('approvals: no principal');
      const found = await answerApi(approvals, endpoint.path, { call, person: principal, body: String(action.body) });
      const type = found.status === 200 ? 'application/json' : 'application/problem+json';
      const headers = { ...ofOrigin, 'Content-Type': type, 'Cache-Control': 'no-store' };
      answer(call, found.status, headers, JSON.stringify(found.body));
    },
  };
}

/** The same for every id: a stranger learns nothing of a request. */
function howDecidedPage(id: string): PersonPage {
  return {
    title: 'Approve a call',
    heading: 'A person decides on this call, but not on this page',
    lines: [
      'Approvers decide with a program of theirs, which calls this address with their token.',
      'Operators of the gateway see what waits, and decide, on the command line:',
      { code: 'sallyport approvals' },
      { code: `sallyport approvals approve ${id === '' ? 'ID' : id}` },
    ],
    note: 'When it is approved, repeat the call in your client.',
  };
}

const MAX_SHOWN = 20;
const SWEEP_MS = 1_000;

interface Used {
  readonly settings: ApprovalSettings;
  readonly approvals: Approvals;
}

/** The events of approvals: for the log, metrics, and `approvals.notify`. It follows the newest configuration. */
class ApprovalEvents implements ApprovalObserver {
  readonly #log: ProcessParts['log'];
  readonly #meters: ProcessParts['meters'];
  #used: Used | undefined;
  #notifier: Promise<Notifier> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isSweeping = false;

  constructor(log: ProcessParts['log'], meters: ProcessParts['meters']) {
    this.#log = log;
    this.#meters = meters;
  }

  event(...[event, approval, by]: Parameters<ApprovalObserver['event']>): void {
    const { id, call, caller } = approval;
    this.#meters.add('sallyport_approvals_total', 1, call.route, event);
    this.#log('info', 'approval', {
      event,
      approval: id,
      route: call.route,
      subject: caller.subject,
      client_id: caller.client,
      by,
    });
    const settings = this.#used?.settings;
    if (settings?.notify !== undefined) void this.#notify(settings, event, approval);
  }

  waiting(route: string, count: number): void {
    this.#meters.set('sallyport_approvals_waiting', count, route);
  }

  /** @param next Undefined: none are configured. */
  use(next: Used | undefined): void {
    const [before, after] = [this.#used?.settings.notify, next?.settings.notify];
    if (before?.url !== after?.url || before?.secret !== after?.secret) this.#closeNotifier();
    this.#used = next;
    clearInterval(this.#timer);
    this.#timer = next && setInterval(() => void this.#sweep(), SWEEP_MS).unref();
  }

  /** What the operator sees and decides; undefined: no approvals are configured. */
  operator(): OperatorApprovals | undefined {
    const approvals = this.#used?.approvals;
    if (approvals === undefined) return undefined;
    const answer = async (act: () => Promise<unknown>): Promise<OperatorAnswer> => {
      try {
        return { status: 200, body: JSON.stringify(await act()) };
      } catch (error) {
        if (isDecisionRefused(error)) return { status: error.status, body: error.message };
        return { status: 503, body: messageOf(error) };
      }
    };
    return {
      list: () => answer(async () => ({ approvals: (await approvals.list('operator')).map(shownView) })),
      find: (id) => answer(() => viewFor(approvals, id, 'operator')),
      async waiting() {
        try {
          const all = (await approvals.list('operator')).filter(({ status }) => status === 'pending');
          return { count: all.length, oldest: all.slice(0, MAX_SHOWN).map(briefly) };
        } catch (error) {
          return { count: 0, oldest: [], problem: messageOf(error) };
        }
      },
      decide: (id, decision) =>
        answer(async () => approvalView((await approvals.decide(id, decision, 'operator')).approval)),
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
      await this.#used?.approvals.sweep();
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
    const { Notifier: Opened } = await import('./notifier.ts');
    return new Opened(settings, (event, why) => this.#lost(event, why));
  }

  #lost(event: ApprovalEvent, why: string): void {
    this.#meters.add('sallyport_approval_notifications_lost_total', 1, event);
    this.#log('warn', 'approval notification lost', { event, why });
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
