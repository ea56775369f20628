import type { Config } from '../model/config.ts';
import { toolOf, type Outcome } from '../model/outcome.ts';
import type { JsonLines } from './json-lines.ts';

const levels = { debug: 10, info: 20, warn: 30, error: 40 } as const;
type Level = keyof typeof levels;

/** What the gateway says of itself and of each decision; one JSON line each. */
export interface Log {
  decision(outcome: Outcome): void;
  event(level: Level, msg: string, fields?: Readonly<Record<string, unknown>>): void;
}

/**
 * Creates the log. Denials are lines at `info`, so that a reason is visible without a debug level (specification §2.8);
 * never a token, a secret or a body.
 */
export function createLog({ level, decisions }: Config['log'], lines: JsonLines): Log {
  const enabled = (of: Level): boolean => levels[of] >= levels[level];
  const decisionsEnabled = enabled('info');
  return {
    decision(outcome) {
      if (!decisionsEnabled || (decisions === 'denials' && outcome.allow && outcome.shadow === undefined)) return;
      lines.write(decisionLine(outcome));
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

/** The members of a decision's line, in this order; the undefined ones are left out by JSON.stringify. */
function decisionLine(outcome: Outcome): object {
  const { call, route, principal, attempt, denial, shadow } = outcome;
  const refused = denial ?? shadow;
  const mcp = attempt?.kind === 'mcp' ? attempt : undefined;
  return {
    time: new Date().toISOString(),
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
    scope: principal?.claims['scope'],
    needed_scope: refused === undefined || refused.scope.length === 0 ? undefined : refused.scope.join(' '),
    policy: route?.policy?.name,
    rule: outcome.rule,
    duration_ms: Math.round((outcome.decidedAt - call.startedAt) * 1000) / 1000,
  };
}
