/**
 * What the admin listener and the console's page say to each other. The page imports these types too.
 *
 * @module
 */

import type { ShownList } from '../../core/model/events.ts';
import type { WaitingApprovals } from '../operator-approvals.ts';
import type { ServerState } from '../../ports/authorization-server-client.ts';
import type { DecisionRecord } from '../../core/model/decision.ts';
import type { LockState } from '../../mcp/definitions.ts';
import type { DescribedKind } from '../../core/model/mcp.ts';
import { type OutcomeKind, outcomeKinds } from '../../core/model/outcome-kind.ts';
import type { Explanation } from '../../core/model/policy.ts';
import type { TokenForm } from '../../core/model/principal.ts';
import type { RevocationState } from '../../ports/revocation.ts';
import type { StoreState } from '../../ports/shared.ts';
import type { Gap } from '../../analysis/review/coverage.ts';
import type { Explained } from '../../analysis/review/explained.ts';
import type { CountedDifference } from '../../analysis/review/replay.ts';
import type { TestResult } from '../../analysis/review/run-tests.ts';
import type { RatePoint } from './rates.ts';

export type { RatePoint };

/** The members of a record that a row of Live has. */
export const liveNames = [
  'at',
  'id',
  'address',
  'path',
  'route',
  'reason',
  'detail',
  'subject',
  'clientId',
  'neededScope',
  'rule',
  'kind',
] as const satisfies readonly (keyof DecisionRecord)[];

/** A decision as a row of Live. */
export interface DecisionRow extends Pick<DecisionRecord, (typeof liveNames)[number]> {
  readonly kind: OutcomeKind;
  /** The tool, or what else was called: of an HTTP route the method and the path. */
  readonly called: string;
}

/** The new decisions of the last moment. */
export interface Batch {
  /** The newest first. */
  readonly rows: readonly DecisionRow[];
  /** Allowed calls that were left out, because there were too many. */
  readonly leftOut: number;
}

/** The kept decisions that a filter selects. */
export interface Past {
  /** The newest first. */
  readonly rows: readonly DecisionRow[];
  /** How many decisions the filter selects; `rows` may have fewer. */
  readonly selected: number;
  /** How many decisions are kept in all. */
  readonly kept: number;
}

/** The rates of the last hour, the oldest point first. */
export interface RatesAnswer {
  readonly slotMs: number;
  readonly points: readonly RatePoint[];
}

/** A route, as the console shows it; nothing of it is secret. */
export interface RouteView {
  readonly name: string;
  readonly path: string;
  readonly url: string;
  readonly protocol: 'http' | 'mcp';
  readonly policy: string | undefined;
  readonly isPublic: boolean;
  readonly upstream: string;
}

/** The state of all processes, with the members of capabilities. */
export interface ProcessState {
  readonly servers: readonly ServerState[];
  /** Undefined: none is configured. */
  readonly store?: StoreState | undefined;
  /** The routes whose policy has `lock`. */
  readonly locks?: readonly LockState[];
  readonly openStreams: number;
  /** When the listener's certificate expires, in milliseconds since the epoch; undefined without TLS. */
  readonly certificateExpires?: number | undefined;
  /** Undefined without `revocation`. */
  readonly revocation?: RevocationState | undefined;
  /** Whether `approvals` are configured. */
  readonly hasApprovals?: boolean;
}

/** The configuration in force, and the state of what it depends on. */
export interface Status extends ProcessState {
  /** The digest of the configuration in force. */
  readonly config: string;
  /** Since when it is in force, in milliseconds since the epoch. */
  readonly since: number;
  /** Why the newest files are not in force; empty if they are. */
  readonly problems: readonly string[];
  readonly routes: readonly RouteView[];
  /** How many processes serve. */
  readonly workers: number;
  /** The dashboard for history. */
  readonly grafana?: string | undefined;
}

/** A decision with its explanation. */
export interface DecisionDetail
  extends DecisionRow, Pick<DecisionRecord, 'requestId' | 'method' | 'policy' | 'traceId' | 'durationMs' | 'answer'> {
  /** The name of the policy with the digest of its file. */
  readonly version?: string | undefined;
  /** The agents that act for the subject, outermost first. */
  readonly actors?: readonly string[] | undefined;
  /** The tools that the call calls. */
  readonly inner?: readonly string[] | undefined;
  /** The entries that the answer lacks. */
  readonly list?: ShownList | undefined;
  readonly token?: TokenView | undefined;
  /** The words of `explain` about what decided. */
  readonly decidedBy: string;
  readonly notes: readonly string[];
  /** What the caller would need to be allowed, a sentence each. */
  readonly remedies: readonly string[];
  readonly conditions: readonly Explanation[];
  /** The decision as an example for the policy's test file; undefined if no policy decided. */
  readonly test?: string | undefined;
}

/** The view of a token: nothing of its value. */
export interface TokenView {
  readonly form: TokenForm;
  readonly issuer: string;
  readonly scope?: string | undefined;
  /** The seconds that were left when the call was decided. */
  readonly secondsLeft?: number | undefined;
  /** `exp` − `iat` in seconds, if the policy read it. */
  readonly lifetime?: number | undefined;
  /** The claims that the policy read, and those that `log.claims` lists. */
  readonly claims: Readonly<Record<string, unknown>>;
}

/** A policy in force. */
export interface PolicyView {
  readonly name: string;
  /** Its file, as messages name it. */
  readonly file: string;
  readonly text: string;
  /** How many rules it has. */
  readonly rules: number;
  /** The routes that use it. */
  readonly routes: readonly { readonly name: string; readonly protocol: 'http' | 'mcp' }[];
  readonly tests: DraftTests | undefined;
  readonly properties: DraftAnswer['properties'];
}

/** A draft to try. */
export interface DraftRequest {
  readonly policy: string;
  readonly text: string;
  /** The route that is called; default: the first one with the policy. */
  readonly route?: string | undefined;
  readonly question?: DraftQuestion | undefined;
  /** Whether to do what takes longer too: prove the properties, and decide the kept decisions again. */
  readonly isThorough: boolean;
}

/** A described call, as the reader typed it. */
export interface DraftQuestion {
  /** JSON. */
  readonly claims: string;
  /** Separated by spaces. */
  readonly scope: string;
  /** Of the token, in seconds; empty: unknown. */
  readonly lifetime: string;
  readonly kind: DescribedKind;
  readonly name: string;
  /** JSON; empty: unknown. */
  readonly arguments: string;
  /** The calls before it, in YAML as `given: { history: … }` has them; empty: unknown. */
  readonly history: string;
}

/** The result of a draft. With problems, it has nothing else. */
export interface DraftAnswer {
  readonly problems: readonly DraftProblem[];
  readonly tests?: DraftTests;
  /** The properties of the policy; only in a thorough answer. */
  readonly properties?: DraftTests['results'];
  readonly answer?: QuestionAnswer;
  /** What the edit means beside the policy in force; only in a thorough answer. */
  readonly meaning?: DraftMeaning;
  readonly replay?: DraftReplay;
}

/** The differences between a draft and the policy in force, as `sallyport compare` finds them. */
export interface DraftMeaning {
  readonly differences: readonly {
    readonly kind: string;
    readonly rule: string;
    readonly was: string;
    readonly now: string;
    /** A caller and a call on which both decide differently, as a test file writes them. */
    readonly witness: readonly string[];
  }[];
  readonly undecided: readonly { readonly rule: string; readonly why: string }[];
}

/** A problem of a file, as `check` says it; line and column from 1. */
export interface DraftProblem {
  readonly line: number;
  readonly column: number;
  readonly message: string;
}

/** The tests of a policy, and the rules that none of them decides. */
export interface DraftTests {
  readonly results: readonly Pick<TestResult, 'name' | 'line' | 'fault'>[];
  readonly problems: readonly DraftProblem[];
  readonly gaps: readonly Gap[];
}

/** The decision of a draft on a described call, or why the description is none. */
export type QuestionAnswer =
  | { readonly fault: string }
  | (Omit<Explained, 'route' | 'decidedBy' | 'policy'> & {
      readonly fault?: undefined;
      readonly kind: OutcomeKind;
      readonly remedies: readonly string[];
    });

/** The kept decisions that a draft would have changed. */
export interface DraftReplay {
  readonly decided: number;
  readonly changes: readonly CountedDifference[];
}

/** An address of the admin listener, with the type of its answer in JSON. */
export interface AdminEndpoint<Answer> {
  readonly path: string;
  /** Never there: it only carries the type. */
  readonly answer?: Answer;
}

/** The endpoints that the page reads. */
export const endpoints = {
  status: at<Status>('/console.json'),
  policies: at<readonly PolicyView[]>('/console/policies'),
  /** With a filter as its query. */
  past: at<Past>('/console/past'),
  /** With the query `id`. */
  decision: at<DecisionDetail>('/console/decision'),
  rates: at<RatesAnswer>('/console/rates'),
};

/** The endpoint of the capability of approvals that the page reads. */
export const waiting = at<WaitingApprovals>('/console/approvals');

/** The answer at an endpoint. */
export type AnswerAt<Name extends keyof typeof endpoints> =
  (typeof endpoints)[Name] extends AdminEndpoint<infer Answer> ? Answer : never;

function at<Answer>(path: string): AdminEndpoint<Answer> {
  return { path };
}

/** The stream of new decisions. */
export const DECISIONS = '/console/decisions';
/** Takes a {@link DraftRequest}, and answers with a {@link DraftAnswer}. */
export const DRAFT = '/console/draft';

/** The addresses of the console's one page, which shows a view for each. */
export const views = [
  { path: '/', name: 'Live' },
  { path: '/policies', name: 'Policies' },
  { path: '/health', name: 'Health' },
] as const;

type Filtered = Pick<DecisionRow, 'route' | 'kind' | 'reason' | 'subject' | 'clientId' | 'called'>;

/** The members of a filter, as in the address of Live. */
export const filterNames = ['route', 'outcome', 'reason', 'subject', 'client', 'tool'] as const;

/** Which decisions to show. A member that is absent selects every decision. */
export type Filter = Readonly<Partial<Record<(typeof filterNames)[number], string>>>;

/** The filter in the query of an address. */
export function filterIn(query: URLSearchParams): Filter {
  return Object.fromEntries(
    filterNames.flatMap((name) => {
      const value = query.get(name) ?? '';
      return value === '' ? [] : [[name, value]];
    }),
  );
}

/** The outcome in a filter that selects each refusal: `challenged`, `refused` and `unavailable`. */
export const DENIED = 'denied';

/**
 * Whether a filter selects a decision: by the whole route and outcome, by the beginning of the reason, and by a part of
 * the other members, whatever their case.
 */
export function selects({ route, outcome, reason, subject, client, tool }: Filter, row: Filtered): boolean {
  return (
    (route === undefined || row.route === route) &&
    (outcome === undefined || row.kind === outcome || (outcome === DENIED && outcomeKinds[row.kind].isDenied)) &&
    (reason === undefined || row.reason?.startsWith(reason) === true) &&
    (subject === undefined || has(row.subject, subject)) &&
    (client === undefined || has(row.clientId, client)) &&
    (tool === undefined || has(row.called, tool))
  );
}

function has(text: string | undefined, part: string): boolean {
  return text !== undefined && text.toLowerCase().includes(part.toLowerCase());
}
