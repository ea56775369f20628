import {
  type CommonMembers,
  innerTools,
  members,
  methodOf,
  otherTargets,
  refusalIn,
  type RepeatedOutcome,
  targetName,
  toolName,
} from '../model/decision.ts';
import type { Outcome, RefusalAnswer } from '../model/outcome.ts';
import type { McpTarget } from '../model/policy.ts';
import type { RecordDetails } from '../model/outcome.ts';
import type { Endpoint } from '../model/endpoint.ts';

/** A row of the table of members. */
export interface Row {
  readonly name: string;
  readonly own: 'number' | 'text' | undefined;
  /** Of an own text. */
  readonly maxLength: number | undefined;
  /** The beginning of the member in a line, `,"name":`; undefined: no line has it. */
  readonly key: string | undefined;
  readonly of: (outcome: Outcome, at: number) => unknown;
  readonly write: ((value: unknown) => unknown) | undefined;
}

const rows = Object.entries(members).map(([name, row]) => {
  const absent = { own: undefined, maxLength: undefined, wire: undefined, write: undefined };
  const { own, maxLength, wire, of, write } = { ...absent, ...row };
  return { name, own, maxLength, key: wire && `,"${wire.name}":`, of, write } as Row;
});
const firstCommon = rows.findIndex(({ own }) => own === undefined);
/** The own members in a line before those that are in common, and after them. Every line of the log has `time`. */
const head = rows.slice(0, firstCommon).filter(({ name }) => name !== 'at');
const tail = rows.slice(firstCommon).filter(({ own }) => own !== undefined);
const commonRows = rows.filter(({ own }) => own === undefined);

/** The members that each decision has for itself, by the type of their values. */
export const ownRows = {
  numbers: rows.filter(({ own }) => own === 'number'),
  texts: rows.filter(({ own }) => own === 'text'),
};

/** The log line of a decision that was made at `at`, in milliseconds since the epoch. */
export function decisionLine(outcome: Outcome, at: number): string {
  let line = `{"time":"${timestamp(at)}","level":"info","msg":"decision"`;
  for (const row of head) line += ownText(row, row.of(outcome, at));
  line += commonPart(outcome).text;
  for (const row of tail) line += ownText(row, row.of(outcome, at));
  return `${line}}`;
}

/** The members that decisions on the same call of a caller have in common. */
export class CommonPart {
  readonly members: CommonMembers;
  /** The length of the text, in UTF-16 code units: callers can make it long. */
  readonly length: number;
  readonly #route: Endpoint | undefined;
  readonly #details: RecordDetails | undefined;
  #text: string;
  #uses = 0;

  constructor(outcome: Outcome) {
    const values: Record<string, unknown> = {};
    let text = '';
    for (const row of commonRows) {
      const value = row.of(outcome, NaN);
      values[row.name] = value;
      text += memberText(row, value);
    }
    this.members = values as unknown as CommonMembers;
    this.#text = text;
    this.length = text.length;
    this.#route = outcome.route;
    this.#details = outcome.details;
  }

  /** As JSON, for a line: `,"route":…`. If it is used again, as one flat string, which V8 need not join each time. */
  get text(): string {
    this.#uses += 1;
    if (this.#uses === 2) this.#text = Buffer.from(this.#text).toString();
    return this.#text;
  }

  /** Whether another outcome for the same caller has the same members. Compares everything that they are made of. */
  isOf(outcome: RepeatedOutcome): boolean {
    const { allow, rule, method, tool, inner, input, answer } = this.members;
    return (
      this.#route === outcome.route &&
      this.#details === outcome.details &&
      allow === outcome.allow &&
      rule === outcome.rule &&
      tool === toolName(outcome) &&
      isSameList(inner ?? [], innerTools(outcome) ?? []) &&
      method === methodOf(outcome) &&
      isSameRefusal(this.members, refusalIn(outcome)) &&
      isSameAnswer(answer, outcome.answer) &&
      isSameTargets(input.targets, otherTargets(outcome))
    );
  }
}

function isSameRefusal(
  { reason, detail, neededScope = '' }: CommonMembers,
  refusal: ReturnType<typeof refusalIn>,
): boolean {
  if (reason === undefined || refusal === undefined) return reason === refusal?.reason;
  return reason === refusal.reason && detail === refusal.detail && neededScope === refusal.scope.join(' ');
}

function isSameAnswer(one: RefusalAnswer | undefined, other: RefusalAnswer | undefined): boolean {
  if (one === undefined || other === undefined) return one === other;
  return one.status === other.status && one.because === other.because && isSameList(one.challenges, other.challenges);
}

function isSameTargets(one: readonly McpTarget[] | undefined, other: readonly McpTarget[] | undefined): boolean {
  if (one === undefined || other === undefined) return one === other;
  return one.length === other.length && one.every((target, at) => isSameTarget(target, other[at]));
}

function isSameTarget(recorded: McpTarget, other: McpTarget | undefined): boolean {
  return other !== undefined && recorded.kind === other.kind && recorded.name === targetName(other);
}

function isSameList(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((text, at) => text === other[at]);
}

/** A principal stays the same object while its token is cached. The newest part is last. */
const commonParts = new WeakMap<object, readonly CommonPart[]>();
const MAX_PARTS = 8;
const withoutCaller = Object.freeze(Object.create(null) as object);

/** The common part of a decision and others: the same object, if the caller made the same call before. */
export function commonPart(outcome: Outcome): CommonPart {
  // Each call has arguments of its own.
  if (outcome.details?.arguments !== undefined) return new CommonPart(outcome);
  const caller = outcome.principal ?? withoutCaller;
  const parts = commonParts.get(caller) ?? [];
  for (const part of parts) if (part.isOf(outcome)) return part;
  const part = new CommonPart(outcome);
  commonParts.set(caller, [...parts.slice(1 - MAX_PARTS), part]);
  return part;
}

let lastSecond = { at: NaN, text: '' };

/** A time, RFC 3339. To format a date takes longer than the rest of the line: it is done once a second. */
function timestamp(time: number): string {
  const milliseconds = time % 1000;
  const at = time - milliseconds;
  if (at !== lastSecond.at) lastSecond = { at, text: new Date(at).toISOString().slice(0, -'000Z'.length) };
  return `${lastSecond.text}${String(milliseconds).padStart(3, '0')}Z`;
}

function ownText({ key, own }: Row, value: unknown): string {
  if (value === undefined) return '';
  if (own === 'number') return `${key}${value as number}`;
  const text = value as string;
  // Only the id that a proxy gave can have characters that JSON escapes.
  return text.includes('"') || text.includes('\\') ? `${key}${JSON.stringify(text)}` : `${key}"${text}"`;
}

/** Characters that JSON does not escape. */
const plain = /^[ !#-[\]-~]*$/;

function memberText({ key, write }: Row, value: unknown): string {
  const written = write === undefined ? value : write(value);
  if (key === undefined || written === undefined) return '';
  return typeof written === 'string' && plain.test(written) ? `${key}"${written}"` : `${key}${JSON.stringify(written)}`;
}
