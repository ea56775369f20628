import type {
  ApprovalDecision,
  OperatorAnswer,
  OperatorApprovals,
  WaitingApprovals,
} from '../../core/model/operator-approvals.ts';
import type { ServerState } from '../../core/model/authorization-server.ts';
import { calledIn, type CommonMembers, type DecisionRecord, liveNames, policyName } from '../../core/model/decision.ts';
import type { CountedDecision } from './recent-decisions.ts';
import type { RateSlot } from './rates.ts';
import type { Recorder } from './recorder.ts';
import {
  type Batch,
  type DecisionRow,
  type Filter,
  type Past,
  type ProcessState,
  type RouteView,
  selects,
  type Status,
} from './messages.ts';
import type { Config } from '../../core/model/config.ts';
import type { OperatorRevocations, RevocationState, RevokeCommand, SourceState } from '../../core/model/revocation.ts';

const MAX_ROWS = 500;
const MAX_BATCH = 100;
const BATCH_MS = 200;

interface Answering {
  readonly recorder: Recorder;
  readonly state: () => Pick<ProcessState, 'servers' | 'store' | 'locks' | 'revocation'>;
  /** Undefined without `approvals`. */
  readonly approvals: () => OperatorApprovals | undefined;
  /** Undefined without `revocation`. */
  readonly revocations: OperatorRevocations | undefined;
}

/** A part of the list of revocations, a JSON line each. */
interface RevocationList extends OperatorAnswer {
  /** Where the next part begins; undefined: this is the last one. */
  readonly next?: number | undefined;
}

/** How long one process has to revoke: longer than the store may take. */
const REVOKE_MS = 5_000;
const noRevocation: OperatorAnswer = {
  status: 404,
  body: 'The gateway has no `revocation`: add `revocation: {}` to gateway.yaml, and restart it.',
};

const noApprovals: OperatorAnswer = { status: 404, body: 'The gateway has no `approvals` in its configuration.' };

const noAnswer: OperatorAnswer = { status: 503, body: 'No process answers.' };

/** All processes have one book: the process that did something answers for all. */
function ofOneBook(answers: readonly OperatorAnswer[]): OperatorAnswer {
  const [best] = answers.toSorted((one, other) => one.status - other.status);
  return best ?? noAnswer;
}

/** A question of the console: the answer of one process, and how the answers of several become one. */
interface QuestionRow<Argument, Answer> {
  /** It takes one argument, so that a message between processes has it. */
  readonly answer: (process: Answering, argument: Argument) => Answer | Promise<Answer>;
  readonly join: (answers: readonly Answer[]) => Answer;
  /** One process is asked, for all know the same, and has so long to answer; default: each is asked. */
  readonly oneWithinMs?: number;
}

const questions = {
  state: question<undefined, ProcessState>({
    answer: ({ recorder, state }) => ({
      ...state(),
      openStreams: recorder.openStreams,
      certificateExpires: recorder.certificateExpires,
    }),
    join: (states) => ({
      servers: worstOf(states.flatMap(({ servers }) => servers)),
      store: states[0]?.store,
      locks: states[0]?.locks ?? [],
      openStreams: sum(states.map(({ openStreams }) => openStreams)),
      certificateExpires: states[0]?.certificateExpires,
      revocation: joinedRevocation(states.flatMap(({ revocation }) => revocation ?? [])),
    }),
  }),
  past: question({
    answer({ recorder }, filter: Filter): Past {
      const isWanted = (common: CommonMembers, path?: string): boolean =>
        selects(filter, { ...common, called: calledIn({ ...common, path }) });
      const { decisions, ...counts } = recorder.decisions.select(isWanted, MAX_ROWS);
      return { rows: decisions.map(rowOf), ...counts };
    },
    join: (pasts) => ({
      rows: newestFirst(pasts.flatMap(({ rows }) => rows)).slice(0, MAX_ROWS),
      selected: sum(pasts.map(({ selected }) => selected)),
      kept: sum(pasts.map(({ kept }) => kept)),
    }),
  }),
  find: question({
    answer: ({ recorder }, id: string): DecisionRecord | undefined => recorder.decisions.find(id),
    join: (records) => records.find((record) => record !== undefined),
  }),
  rates: question<undefined, readonly RateSlot[]>({
    answer: ({ recorder }) => recorder.rates.slots(),
    join: (slots) => slots.flat(),
  }),
  approvals: question({
    answer: async ({ approvals }) => (await approvals()?.list()) ?? noApprovals,
    join: ofOneBook,
  }),
  approval: question({
    answer: async ({ approvals }, id: string) => (await approvals()?.find(id)) ?? noApprovals,
    join: ofOneBook,
  }),
  waiting: question({
    answer: async ({ approvals }): Promise<WaitingApprovals> =>
      (await approvals()?.waiting()) ?? { count: 0, oldest: [] },
    join: (answers) =>
      answers.find(({ problem }) => problem === undefined) ??
      answers[0] ?? { count: 0, oldest: [], problem: 'No process answers.' },
  }),
  /** Each process is asked; the first decides. */
  decideApproval: question({
    answer: async (
      { approvals },
      { id, decision }: { readonly id: string; readonly decision: ApprovalDecision },
    ): Promise<OperatorAnswer> => (await approvals()?.decide(id, decision)) ?? noApprovals,
    join: ofOneBook,
  }),
  revocations: question({
    oneWithinMs: REVOKE_MS,
    answer({ revocations }, from: number): RevocationList {
      if (revocations === undefined) return noRevocation;
      const { lines, next } = revocations.page(from);
      return { status: 200, body: lines, next };
    },
    join: ([list]) => list ?? noAnswer,
  }),
  revoke: question({
    oneWithinMs: REVOKE_MS,
    async answer({ revocations }, command: RevokeCommand): Promise<OperatorAnswer> {
      if (revocations === undefined) return noRevocation;
      const until = new Date(Math.floor(Date.now() / 1000) * 1000).toISOString();
      const problem = await revocations.revoke(command);
      if (problem !== undefined) return { status: 422, body: `Not revoked: ${problem}.` };
      return { status: 200, body: JSON.stringify({ status: 'revoked', until }) };
    },
    join: ([answer]) => answer ?? noAnswer,
  }),
  /** The kept decisions of a policy, those that are alike once. */
  distinct: question({
    answer: ({ recorder }, policy: string): readonly CountedDecision[] =>
      recorder.decisions.groups().filter(({ decision }) => policyName(decision) === policy),
    join: (groups) => groups.flat(),
  }),
};

function question<Argument, Answer>(row: QuestionRow<Argument, Answer>): QuestionRow<Argument, Answer> {
  return row;
}

type Questions = typeof questions;
/** The name of a question. */
export type ConsoleQuestion = keyof Questions;
/** The argument of a question. */
export type ArgumentOf<Name extends ConsoleQuestion> = Parameters<Questions[Name]['answer']>[1];
/** The answer to a question. */
export type AnswerOf<Name extends ConsoleQuestion> = ReturnType<Questions[Name]['join']>;

/** Calls `onBatch` with new decisions a few times a second, until the returned function is called. */
type Watch = (onBatch: (batch: Batch) => void) => () => void;

/** The source of the console: one process, or all workers. */
export interface ConsoleSource {
  readonly ask: <Name extends ConsoleQuestion>(name: Name, argument: ArgumentOf<Name>) => Promise<AnswerOf<Name>>;
  readonly watch: Watch;
}

/** The answers of one process to the console. */
export interface ProcessConsole {
  readonly answer: <Name extends ConsoleQuestion>(
    name: Name,
    argument: ArgumentOf<Name>,
  ) => AnswerOf<Name> | Promise<AnswerOf<Name>>;
  readonly watch: Watch;
}

/** How long the only process that is asked has for its answer; undefined: each process is asked. */
export function patienceWithOne(name: ConsoleQuestion): number | undefined {
  return questions[name].oneWithinMs;
}

/** Creates the answers of the process that `recorder` records. */
export function createProcessConsole(
  recorder: Recorder,
  state: Answering['state'],
  approvals: Answering['approvals'] = () => undefined,
  revocations?: OperatorRevocations,
): ProcessConsole {
  return {
    answer<Name extends ConsoleQuestion>(name: Name, argument: ArgumentOf<Name>) {
      // The compiler does not know that the row of a name takes the argument of that name.
      const { answer } = questions[name] as unknown as QuestionRow<ArgumentOf<Name>, AnswerOf<Name>>;
      return answer({ recorder, state, approvals, revocations }, argument);
    },
    watch: (onBatch) => watchDecisions(recorder, onBatch),
  };
}

/** The answer of several processes as one. */
export function joinedAnswer<Name extends ConsoleQuestion>(
  name: Name,
  answers: readonly AnswerOf<Name>[],
): AnswerOf<Name> {
  return (questions[name] as unknown as QuestionRow<ArgumentOf<Name>, AnswerOf<Name>>).join(answers);
}

/** The source of a single process. */
export function singleSource({ answer, watch }: ProcessConsole): ConsoleSource {
  return { ask: async (name, argument) => answer(name, argument), watch };
}

/** Without a watcher nothing runs. */
function watchDecisions({ decisions }: Recorder, onBatch: (batch: Batch) => void): () => void {
  let seen = decisions.count;
  const timer = setInterval(() => {
    if (decisions.count === seen) return;
    const since = seen;
    seen = decisions.count;
    onBatch(batchOf([...decisions.newest(since)], seen - since));
  }, BATCH_MS);
  return () => clearInterval(timer);
}

/** Refusals take precedence: of the allowed calls, evenly spread ones are left out. */
function batchOf(decisions: readonly DecisionRecord[], count: number): Batch {
  const all = decisions.map(rowOf);
  if (all.length <= MAX_BATCH) return { rows: all, leftOut: count - all.length };
  const others = all.filter(({ kind }) => kind !== 'allowed').slice(0, MAX_BATCH);
  const room = MAX_BATCH - others.length;
  const allowed = all.filter(({ kind }) => kind === 'allowed');
  const step = Math.max(allowed.length / room, 1);
  const spread = allowed
    .filter((_, index) => Math.floor(index / step) !== Math.floor((index - 1) / step))
    .slice(0, room);
  const rows = newestFirst([...others, ...spread]);
  return { rows, leftOut: count - rows.length };
}

/** A decision as a row of Live. */
export function rowOf(decision: DecisionRecord): DecisionRow {
  const row: Record<string, unknown> = { called: calledIn(decision) };
  for (const name of liveNames) row[name] = decision[name];
  return row as unknown as DecisionRow;
}

/** Every process takes pushed events; one of them manages a stream, or polls. */
function joinedRevocation(states: readonly RevocationState[]): RevocationState | undefined {
  const [first] = states;
  if (first === undefined) return undefined;
  const byName = Map.groupBy(
    states.flatMap(({ sources }) => sources),
    ({ name }) => name,
  );
  return {
    kept: Math.max(...states.map(({ kept }) => kept)),
    most: first.most,
    sources: Array.from(byName, ([name, ofSource]): SourceState => {
      const down = ofSource.find(({ up }) => up === false);
      return {
        name,
        up: down === undefined ? ofSource.find(({ up }) => up === true)?.up : false,
        problem: down?.problem,
        lastEventAt: newest(ofSource.map(({ lastEventAt }) => lastEventAt)),
      };
    }),
  };
}

function newest(times: readonly (number | undefined)[]): number | undefined {
  const known = times.filter((time) => time !== undefined);
  return known.length === 0 ? undefined : Math.max(...known);
}

function newestFirst(rows: readonly DecisionRow[]): readonly DecisionRow[] {
  return rows.toSorted((one, other) => other.at - one.at);
}

const severity = { unknown: 0, available: 1, degraded: 2, stale: 3, unavailable: 4 } as const;

/** Each server in the worst state that a worker reports; of equal states, the one with the oldest keys. */
function worstOf(servers: readonly ServerState[]): readonly ServerState[] {
  const states = Object.groupBy(servers, ({ name }) => name);
  return Object.values(states).flatMap((ofServer = []) => ofServer.toSorted(worstFirst).slice(0, 1));
}

function worstFirst(one: ServerState, other: ServerState): number {
  const difference = severity[other.state] - severity[one.state];
  return difference === 0 ? ageOrder(one) - ageOrder(other) : difference;
}

/** Servers without keys come last. */
function ageOrder({ keys }: ServerState): number {
  return keys === undefined ? Number.MAX_SAFE_INTEGER : Date.parse(keys.fetched);
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

/** The configuration in force. */
export interface InForce {
  config: Config;
  /** Since when, in milliseconds since the epoch. */
  since: number;
  /** Why the newest files are not in force; empty if they are. */
  problems: readonly string[];
}

/** The configuration in force, and the state of what it depends on. */
export function statusOf({ config, since, problems }: InForce, state: ProcessState, workers: number): Status {
  return {
    config: config.hash,
    since,
    problems,
    routes: routesOf(config),
    workers,
    ...state,
    hasApprovals: config.approvals !== undefined,
    grafana: config.console.grafana,
  };
}

/** The routes of a configuration; nothing of them is secret. */
function routesOf({ routes, publicUrl }: Config): readonly RouteView[] {
  return routes.map(({ name, path, protocol, policy, upstream, public: isPublic }) => ({
    name,
    path,
    url: publicUrl + path,
    protocol,
    policy: policy?.name,
    isPublic,
    upstream: upstream.origin + upstream.path,
  }));
}
