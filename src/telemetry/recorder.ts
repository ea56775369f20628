import type { Clock } from '../lib/clock.ts';
import { decisionMs, refusalIn } from '../model/decision.ts';
import { outcomeKind } from '../model/outcome.ts';
import type { Metrics } from './metrics.ts';
import { createRates, type Rates } from './rates.ts';
import { RecentDecisions } from './recent-decisions.ts';

/** What the console shows of a process: its newest decisions, and the rates of the last hour. */
export interface Recorder {
  readonly decisions: RecentDecisions;
  readonly rates: Rates;
  /** How many event streams and WebSockets are open. */
  readonly openStreams: () => number;
  /** When the certificate in force expires, in milliseconds since the epoch; undefined without TLS. */
  readonly certificateExpires: () => number | undefined;
}

/** Adds a recorder to the metrics: it sees the same decisions, answers and streams. */
export function recordBeside(
  metrics: Metrics,
  clock: Clock,
): { readonly metrics: Metrics; readonly recorder: Recorder } {
  const decisions = new RecentDecisions();
  const rates = createRates(clock);
  let openStreams = 0;
  let expires: number | undefined;
  return {
    recorder: { decisions, rates, openStreams: () => openStreams, certificateExpires: () => expires },
    metrics: {
      ...metrics,
      decision(outcome) {
        metrics.decision(outcome);
        decisions.add(outcome, clock());
        rates.decision(outcomeKind(outcome.allow, refusalIn(outcome)?.reason), decisionMs(outcome));
      },
      upstreamAnswered(route, ms) {
        metrics.upstreamAnswered(route, ms);
        rates.upstream(ms);
      },
      streamOpened(route) {
        metrics.streamOpened(route);
        openStreams += 1;
      },
      streamClosed(route) {
        metrics.streamClosed(route);
        openStreams -= 1;
      },
      certificateExpires(at) {
        metrics.certificateExpires(at);
        expires = at.getTime();
      },
    },
  };
}
