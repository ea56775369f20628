import { printable } from '../lib/wording.ts';
import { calledIn, type DecisionRecord } from '../model/decision.ts';
import { harmlessJson } from '../telemetry/json-lines.ts';
import { timeOf } from './decision-log.ts';

/** Counts of decisions. */
export interface LogSummary {
  add(decision: DecisionRecord): void;
  /** The most frequent names, for people. */
  text(): string;
  /** All names, for programs. */
  json(): string;
}

interface Count {
  allowed: number;
  denied: number;
}

/** How many names of a kind people see. */
const SHOWN = 20;

/** Creates empty counts by tool, subject and reason. A denial in shadow mode counts as allowed, and has a reason. */
export function createSummary(): LogSummary {
  const total: Count = { allowed: 0, denied: 0 };
  const kinds = { tool: new Map<string, Count>(), subject: new Map<string, Count>(), reason: new Map<string, Count>() };
  let [from, to] = ['', ''];

  return {
    add(decision) {
      const { allow, reason, subject } = decision;
      const time = timeOf(decision);
      if (from === '') from = time;
      to = time;
      count(total, allow);
      count(counted(kinds.tool, calledIn(decision)), allow);
      count(counted(kinds.subject, subject ?? '(none)'), allow);
      if (reason !== undefined) count(counted(kinds.reason, reason), allow);
    },
    text() {
      const period = from === '' ? '' : `, ${printable(from)} to ${printable(to)}`;
      const head = `${total.allowed} allowed, ${total.denied} denied${period}\n`;
      return `${head}${Object.entries(kinds)
        .map(([kind, names]) => section(kind, ranked(names)))
        .join('')}`;
    },
    json() {
      const lists = Object.entries(kinds).map(([kind, names]) => [
        `${kind}s`,
        ranked(names).map(([name, { allowed, denied }]) => ({ name, allowed, denied })),
      ]);
      return harmlessJson(`${JSON.stringify({ ...total, from, to, ...Object.fromEntries(lists) }, undefined, 2)}\n`);
    },
  };
}

function count(counts: Count, allow: boolean): void {
  counts[allow ? 'allowed' : 'denied'] += 1;
}

function counted(names: Map<string, Count>, name: string): Count {
  const known = names.get(name);
  if (known !== undefined) return known;
  const begun = { allowed: 0, denied: 0 };
  names.set(name, begun);
  return begun;
}

function ranked(names: ReadonlyMap<string, Count>): readonly (readonly [string, Count])[] {
  const sum = ({ allowed, denied }: Count): number => allowed + denied;
  return [...names].toSorted(([, one], [, other]) => sum(other) - sum(one));
}

function section(kind: string, names: readonly (readonly [string, Count])[]): string {
  if (names.length === 0) return '';
  const more = names.length > SHOWN ? `  … and ${names.length - SHOWN} more\n` : '';
  const rows = names
    .slice(0, SHOWN)
    .map(([name, { allowed, denied }]) => `${cell(allowed)}${cell(denied)}  ${printable(name)}\n`);
  return `\n${'allowed'.padStart(9)}${'denied'.padStart(9)}  ${kind}\n${rows.join('')}${more}`;
}

function cell(number: number): string {
  return String(number).padStart(9);
}
