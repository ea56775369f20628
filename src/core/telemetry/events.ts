import type { Events } from '../model/events.ts';
import type { Clock } from '../lib/clock.ts';
import { decisionMs, kindOf } from '../model/decision.ts';
import type { Outcome } from '../model/outcome.ts';
import type { Route } from '../model/route.ts';
import { Rates } from './rates.ts';
import { RecentDecisions } from './recent-decisions.ts';

/** A function of {@link Events}, with the most arguments that any of them has. */
type Handler = (first: unknown, second: unknown, third: unknown) => void;

const eventNames = Object.keys({
  decided: true,
  answered: true,
  returned: true,
  listed: true,
  tokenLookup: true,
  serverCall: true,
  linesLost: true,
  configLoaded: true,
  reloadFailed: true,
  upstreamAnswered: true,
  streamOpened: true,
  streamClosed: true,
  storeUp: true,
  storeRequest: true,
  certificateInForce: true,
  certificateRefused: true,
  handshakeFailed: true,
  clientCertificateRefused: true,
  signIn: true,
  consent: true,
  token: true,
  registration: true,
  grantEnded: true,
} satisfies Record<keyof Events, true>) as readonly (keyof Events)[];

/** Passes each event to all subscribers that want it, in their order. */
export function joinEvents(...subscribers: readonly (Partial<Events> | undefined)[]): Events {
  const joined = eventNames.map((name) => {
    const handlers = subscribers.flatMap((each) => (each?.[name] as Handler | undefined)?.bind(each) ?? []);
    return [name, oneAfterAnother(handlers)] as const;
  });
  return Object.fromEntries(joined) as unknown as Events;
}

function oneAfterAnother([first, ...others]: readonly Handler[]): Handler {
  if (first === undefined) return () => {};
  if (others.length === 0) return first;
  const then = oneAfterAnother(others);
  return (one, two, three) => {
    first(one, two, three);
    then(one, two, three);
  };
}

/** The recordings of a process for the console: its newest decisions, the rates of the last hour, and what is open. */
export class Recorder implements Partial<Events> {
  readonly decisions = new RecentDecisions();
  readonly rates: Rates;
  readonly #clock: Clock;
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
