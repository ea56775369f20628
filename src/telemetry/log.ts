import type { Config } from '../model/config.ts';
import type { Outcome } from '../model/outcome.ts';
import { allowedLine, decisionLine } from './decision-line.ts';
import type { JsonLines } from './json-lines.ts';
import type { TlsObserver } from '../model/observer.ts';
import type { Metrics } from './metrics.ts';

const levels = { debug: 10, info: 20, warn: 30, error: 40 } as const;
type Level = keyof typeof levels;

/** How many denials are remembered for the console. */
const RECENT = 100;

/** What the gateway says of itself and of each decision; one JSON line each. */
export interface Log {
  decision(outcome: Outcome): void;
  event(level: Level, msg: string, fields?: Readonly<Record<string, unknown>>): void;
  /** The newest denials as they were logged, in shadow too. */
  denials(): readonly object[];
  /** Logs from now on as another configuration says. */
  configure(settings: Config['log']): void;
}

/**
 * Creates the log. Denials are lines at `info`, so that a reason is visible without a debug level;
 * never a token, a secret or a body.
 */
export function createLog(settings: Config['log'], lines: JsonLines): Log {
  const recent = createRecent<object>(RECENT);
  let { level, decisions } = settings;
  const enabled = (of: Level): boolean => levels[of] >= levels[level];
  return {
    decision(outcome) {
      const denied = !outcome.allow || outcome.shadow !== undefined;
      const logged = enabled('info') && (decisions === 'all' || denied);
      if (!denied) {
        if (logged) lines.writeText(allowedLine(outcome));
        return;
      }
      const line = decisionLine(outcome);
      recent.add(line);
      if (logged) lines.write(line);
    },
    denials: recent.list,
    configure(next) {
      ({ level, decisions } = next);
    },
    event(of, msg, fields) {
      if (enabled(of)) lines.write({ time: new Date().toISOString(), level: of, msg, ...fields });
    },
  };
}

/** The newest of many things, and no more than so many of them. */
interface Recent<Thing> {
  add(thing: Thing): void;
  /** The newest first. */
  readonly list: () => readonly Thing[];
}

/** Creates an empty one that remembers `max` things. */
function createRecent<Thing>(max: number): Recent<Thing> {
  const things: Thing[] = [];
  let next = 0;
  return {
    add(thing) {
      things[next] = thing;
      next = (next + 1) % max;
    },
    list: () => [...things.slice(next), ...things.slice(0, next)].toReversed(),
  };
}

/**
 * Creates what tells of TLS. What strangers cause is told at `debug` only: everybody can make a handshake fail.
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

/** Tells of a renewed certificate that cannot be used; the one in force goes on. */
export function createRefusedRenewal(log: Log): TlsObserver['certificateRefused'] {
  return (detail) => log.event('error', 'tls certificate not renewed', { detail });
}
