import type { Config } from '../model/config.ts';
import { toolOf, type Outcome } from '../model/outcome.ts';
import type { Principal } from '../model/principal.ts';
import { decisionInput } from './decision-input.ts';
import type { JsonLines } from './json-lines.ts';
import { createRecent } from './recent.ts';

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
 * Creates the log. Denials are lines at `info`, so that a reason is visible without a debug level (specification §2.8);
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
      if (!logged && !denied) return;
      const line = decisionLine(outcome);
      if (denied) recent.add(line);
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

/** What a caller chose, as much of it as says what it is. */
function cut(text: string | undefined): string | undefined {
  return text !== undefined && text.length > 256 ? `${text.slice(0, 256)}…` : text;
}

/** As the token has it, which some servers write as a list. */
function grantedScope(principal: Principal | undefined): string | undefined {
  const scope = principal?.claims['scope'] ?? principal?.claims['scp'];
  if (Array.isArray(scope)) return scope.join(' ');
  return typeof scope === 'string' ? scope : undefined;
}

let last = { at: NaN, text: '' };

/** Now, as RFC 3339 has it; made once a millisecond. */
function timestamp(): string {
  const at = Date.now();
  if (at !== last.at) last = { at, text: new Date(at).toISOString() };
  return last.text;
}

/** The members of a decision's line, in this order; the undefined ones are left out by JSON.stringify. */
function decisionLine(outcome: Outcome): object {
  const { call, route, principal, attempt, denial, shadow } = outcome;
  const refused = denial ?? shadow;
  const mcp = attempt?.kind === 'mcp' ? attempt : undefined;
  return {
    time: timestamp(),
    level: 'info',
    msg: 'decision',
    decision: call.decision,
    request_id: call.id,
    route: route?.name,
    allow: outcome.allow,
    shadow: shadow === undefined ? undefined : true,
    reason: refused?.reason,
    detail: refused?.detail,
    subject: principal?.subject,
    client_id: principal?.clientId,
    issuer: principal?.issuer,
    method: cut(mcp?.method ?? call.method),
    tool: cut(toolOf(mcp)),
    scope: grantedScope(principal),
    needed_scope: refused === undefined || refused.scope.length === 0 ? undefined : refused.scope.join(' '),
    policy: route?.policy?.name,
    rule: outcome.rule,
    input: decisionInput(outcome),
    duration_ms: Math.round((outcome.decidedAt - call.startedAt) * 1000) / 1000,
    trace_id: call.trace?.traceId,
  };
}
