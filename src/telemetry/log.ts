import type { LogSettings } from '../model/config.ts';
import type { KnownCall, Outcome } from '../model/outcome.ts';
import type { Route } from '../model/route.ts';
import { decisionLine } from './decision-record.ts';
import type { JsonLines } from './json-lines.ts';
import type { TlsObserver } from '../model/observer.ts';
import type { Metrics } from './metrics.ts';

/** What decides which lines are logged. */
type Settings = Omit<LogSettings, 'file'>;

const levels = { debug: 10, info: 20, warn: 30, error: 40 } as const;
type Level = keyof typeof levels;

/** The log of decisions and events; one JSON line each. */
export interface Log {
  decision(outcome: Outcome): void;
  /** A call that was allowed no longer counts for rules over time. In the decision log too, for `sallyport replay`. */
  readonly settled: (call: KnownCall, route: Route, why: string) => void;
  event(level: Level, msg: string, fields?: Readonly<Record<string, unknown>>): void;
  /** Applies the settings of another configuration. */
  configure(settings: Settings): void;
}

/**
 * Creates the log. Denials are at `info`, so that operators see reasons without a debug level. No line holds a
 * token, a secret or a body.
 *
 * @param decisionFile Gets decisions too, and no events.
 */
export function createLog(settings: Settings, lines: JsonLines, decisionFile?: JsonLines): Log {
  let { level, decisions } = settings;
  const enabled = (of: Level): boolean => levels[of] >= levels[level];
  function writeDecision(line: string): void {
    lines.writeText(line);
    decisionFile?.writeText(line);
  }
  return {
    decision(outcome) {
      const denied = !outcome.allow || outcome.shadow !== undefined;
      const logged = enabled('info') && (decisions === 'all' || denied);
      if (!logged) return;
      writeDecision(decisionLine(outcome, Date.now()));
    },
    settled({ id, decision }, { name }, detail) {
      if (!enabled('info') || decisions !== 'all') return;
      const line = {
        time: new Date().toISOString(),
        level: 'info',
        msg: 'settled',
        decision,
        request_id: id,
        route: name,
        detail,
      };
      writeDecision(JSON.stringify(line));
    },
    configure(next) {
      ({ level, decisions } = next);
    },
    event(of, msg, fields) {
      if (enabled(of)) lines.write({ time: new Date().toISOString(), level: of, msg, ...fields });
    },
  };
}

/**
 * Creates the observer that logs TLS events. Failed handshakes are at level `debug`, since any client can cause them.
 */
export function createTlsObserver(log: Log, metrics: Metrics): TlsObserver {
  return {
    certificateInForce(expiresAt) {
      metrics.certificateExpires(expiresAt);
      log.event('info', 'tls certificate in force', { expires: expiresAt.toISOString() });
    },
    certificateRefused: createRefusedRenewal(log),
    handshakeFailed: (detail, peer) => log.event('debug', 'tls handshake failed', { detail, peer }),
    clientCertificateRefused: (detail, peer) =>
      log.event('debug', 'client certificate does not count', { detail, peer }),
  };
}

/** Logs that a renewed certificate cannot be used; the one in force stays. */
export function createRefusedRenewal(log: Log): TlsObserver['certificateRefused'] {
  return (detail) => log.event('error', 'tls certificate not renewed', { detail });
}
