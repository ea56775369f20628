import type { KnownCall, Outcome } from '../model/outcome.ts';
import type { Events, ShownList } from '../model/events.ts';
import type { Route } from '../model/route.ts';
import { decisionLine } from './decision-record.ts';
import type { JsonLines } from './json-lines.ts';

/** The events of the decision log. Of a failed request, `sallyport log` shows its decision too. */
const ofDecisionFile: ReadonlySet<string> = new Set(['request failed', 'approval', 'revocation']);

const levels = { debug: 10, info: 20, warn: 30, error: 40 } as const;
type Level = keyof typeof levels;

/** The settings of `log` that say which lines are written. */
interface Settings {
  readonly level: Level;
  readonly decisions: 'all' | 'denials';
  /** Default: false. */
  readonly lists?: boolean;
}

/**
 * The log of decisions and events; one JSON line each. Denials are at `info`, so that operators see reasons without a
 * debug level. No line holds a token, a secret or a body.
 */
export class Log implements Partial<Events> {
  #settings: Settings;
  readonly #lines: JsonLines;
  readonly #decisionFile: JsonLines | undefined;
  /** Takes each decision line too. */
  onDecision: ((line: string, call: Pick<KnownCall, 'trace'>) => void) | undefined;

  /** @param decisionFile Gets decisions too, and of events those about approvals, revocations and failed requests. */
  constructor(settings: Settings, lines: JsonLines, decisionFile?: JsonLines) {
    this.#settings = settings;
    this.#lines = lines;
    this.#decisionFile = decisionFile;
  }

  /** Applies the settings of another configuration. */
  configure(settings: Settings): void {
    this.#settings = settings;
  }

  event(level: Level, msg: string, fields?: Readonly<Record<string, unknown>>): void {
    if (!this.#has(level)) return;
    const entry = { time: new Date().toISOString(), level, msg, ...fields };
    this.#lines.write(entry);
    if (ofDecisionFile.has(msg)) this.#decisionFile?.write(entry);
  }

  decided(outcome: Outcome): void {
    const denied = !outcome.allow || outcome.shadow !== undefined;
    if (!this.#has('info') || (this.#settings.decisions !== 'all' && !denied)) return;
    const line = decisionLine(outcome, Date.now());
    this.#writeDecision(line);
    this.onDecision?.(line, outcome.call);
  }

  /** In the decision log too, for `sallyport replay`. */
  returned(call: KnownCall, route: Route, detail: string): void {
    if (this.#settings.decisions === 'all') this.#writeAbout('settled', call, route, { detail });
  }

  /** In the decision log too. */
  listed(call: KnownCall, route: Route, { method, shown, withheld, more, by }: ShownList): void {
    if (this.#settings.lists !== true) return;
    const withheldMore = more > 0 ? more : undefined;
    this.#writeAbout('list', call, route, { method, shown, withheld, withheld_more: withheldMore, by });
  }

  certificateInForce(expiresAt: Date): void {
    this.event('info', 'tls certificate in force', { expires: expiresAt.toISOString() });
  }

  certificateRefused(detail: string): void {
    this.event('error', 'tls certificate not renewed', { detail });
  }

  /** At level `debug`, since any client can cause it. */
  handshakeFailed(detail: string, peer: string | undefined): void {
    this.event('debug', 'tls handshake failed', { detail, peer });
  }

  clientCertificateRefused(detail: string, peer: string | undefined): void {
    this.event('debug', 'client certificate does not count', { detail, peer });
  }

  #has(level: Level): boolean {
    return levels[level] >= levels[this.#settings.level];
  }

  /** Writes a line about a call that was decided before. */
  #writeAbout(msg: string, { id, decision }: KnownCall, { name }: Route, fields: object): void {
    if (!this.#has('info')) return;
    const time = new Date().toISOString();
    this.#writeDecision(JSON.stringify({ time, level: 'info', msg, decision, request_id: id, route: name, ...fields }));
  }

  #writeDecision(line: string): void {
    this.#lines.writeText(line);
    this.#decisionFile?.writeText(line);
  }
}
