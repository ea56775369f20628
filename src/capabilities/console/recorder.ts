import type { Clock } from '../../core/lib/clock.ts';
import { decisionMs, kindOf } from '../../core/model/decision.ts';
import type { Events, ShownList } from '../../core/model/events.ts';
import type { KnownCall, Outcome } from '../../core/model/outcome.ts';
import type { Route } from '../../core/model/route.ts';
import { Rates } from './rates.ts';
import { RecentDecisions } from './recent-decisions.ts';

/** Each is at most 16 KB: the upstream chooses the names. */
const MAX_LISTS = 500;

/** The recordings of a process for the console: its newest decisions, the rates of the last hour, and what is open. */
export class Recorder implements Partial<Events> {
  readonly decisions = new RecentDecisions();
  readonly rates: Rates;
  readonly #clock: Clock;
  /** The newest lists of which entries were withheld, by the ids of their decisions. */
  readonly #lists = new Map<string, ShownList>();
  #openStreams = 0;
  #certificateExpires: number | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.rates = new Rates(clock);
  }

  /** How many event streams and WebSockets are open. */
  get openStreams(): number {
    return this.#openStreams;
  }

  /** When the certificate in force expires, in milliseconds since the epoch; undefined without TLS. */
  get certificateExpires(): number | undefined {
    return this.#certificateExpires;
  }

  decided(outcome: Outcome): void {
    this.decisions.add(outcome, this.#clock());
    this.rates.decision(kindOf(outcome), decisionMs(outcome));
  }

  listed({ decision }: KnownCall, _route: Route, list: ShownList): void {
    if (decision === undefined) return;
    this.#lists.set(decision, list);
    const [oldest] = this.#lists.keys();
    if (this.#lists.size > MAX_LISTS && oldest !== undefined) this.#lists.delete(oldest);
  }

  /** What was withheld from the list that a decision allowed; undefined: nothing, or it is no longer kept. */
  listOf(decision: string): ShownList | undefined {
    return this.#lists.get(decision);
  }

  upstreamAnswered(_route: Route, ms: number): void {
    this.rates.upstream(ms);
  }

  streamOpened(): void {
    this.#openStreams += 1;
  }

  streamClosed(): void {
    this.#openStreams -= 1;
  }

  certificateInForce(expiresAt: Date): void {
    this.#certificateExpires = expiresAt.getTime();
  }
}
