/**
 * The record of a decision: one row for each member. The log line, the records that the console keeps, and
 * the table in docs/monitoring.md are views of it, so that a new member is one row.
 *
 * @module
 */

import { writtenJson } from '../lib/json/parsed.ts';
import { remembered } from '../lib/remembered.ts';
import type { Denial, ShadowDenial } from './denial.ts';
import type { KnownCall, Outcome } from './outcome.ts';
import { outcomeKind, type OutcomeKind } from './outcome-kind.ts';
import { calledTool, type McpTarget, type Policy } from './policy.ts';
import { argumentsDigest, recordedClaims, shownArguments } from './recorded-details.ts';
import type { Claims, Principal, TokenForm } from './principal.ts';

/**
 * The member `input` of a record: what the decision depended on, besides the other members. It is enough to decide
 * again with an edited policy, and holds only what the policy reads. It never holds arguments, which are part of the
 * request body.
 */
export interface DecisionInput {
  /** The claims that the policy reads, by their names or JSON Pointers as it has them. */
  readonly claims?: Claims;
  /** The names of claims that are too long to be logged. */
  readonly omitted?: readonly string[];
  /** `exp - iat`, in seconds. */
  readonly lifetime?: number;
  /** What an MCP message acts on, where that is not the member `tool` alone. */
  readonly targets?: readonly McpTarget[];
}

/** The part that decisions on the same call of a caller have in common. */
export type RepeatedOutcome = Omit<Outcome, 'call' | 'decidedAt' | 'approval'> & {
  readonly call: Pick<KnownCall, 'method'>;
};

/** A row of the table. The values of members are texts, numbers, booleans or JSON. */
interface MemberRow {
  /** The name in a log line, and what docs/monitoring.md says of it; absent: only the console has the member. */
  readonly wire?: { readonly name: string; readonly about: string };
  /** The value for a log line, if it is not that of the record; undefined leaves it out. */
  readonly write?: (value: never) => unknown;
}

/** A member that each decision has for itself: a number, or a text of visible ASCII. */
type OwnRow = MemberRow & {
  /** @param at The time of the decision, in milliseconds since the epoch. */
  readonly of: (outcome: Outcome, at: number) => unknown;
} & ({ readonly own: 'number' } | { readonly own: 'text'; readonly maxLength: number });

/** A member that decisions on the same call of a caller have in common. In a log line all of them stand together. */
interface CommonRow extends MemberRow {
  readonly own?: undefined;
  readonly of: (outcome: RepeatedOutcome) => unknown;
}

const UUID_LENGTH = 36;
/** The longest id that is taken from a proxy. */
const MAX_REQUEST_ID = 128;
/** An IPv6 address has at most 45 characters, and the name of an interface may follow. */
const MAX_ADDRESS = 64;
/** The longest recorded path; one of this length may have been cut. */
export const MAX_PATH = 256;
/** 16 bytes in base64url. */
const APPROVAL_ID_LENGTH = 22;
/** 16 bytes in hexadecimal digits, W3C Trace Context §3.2.2.3. */
const TRACE_ID_LENGTH = 32;

/** The members, in the order of the log line. */
export const members = {
  at: {
    wire: { name: 'time', about: 'of the decision, RFC 3339' },
    own: 'number',
    of: (_, at) => at,
    write: (at: number) => new Date(at).toISOString(),
  },
  id: {
    wire: { name: 'decision', about: 'the id of the decision; the body of a refusal has it too' },
    own: 'text',
    maxLength: UUID_LENGTH,
    of: ({ call }) => call.decision,
  },
  requestId: {
    wire: {
      name: 'request_id',
      about: '`X-Request-Id` of upstream and client: that of a proxy in `trusted_proxies`, else the id of the decision',
    },
    own: 'text',
    maxLength: MAX_REQUEST_ID,
    of: ({ call }) => call.id,
  },
  address: {
    wire: { name: 'address', about: 'the address of the client, behind `trusted_proxies` as they report it' },
    own: 'text',
    maxLength: MAX_ADDRESS,
    of: ({ call: { client }, details }) =>
      details?.addresses === false || client === '' ? undefined : client?.slice(0, MAX_ADDRESS),
  },
  path: {
    wire: {
      name: 'path',
      about: 'on HTTP routes: the path of the request, without its query, cut at 256 characters',
    },
    own: 'text',
    maxLength: MAX_PATH,
    of: ({ call: { path = '' }, route, details }) =>
      details?.paths === false || route?.protocol !== 'http' || path === '' ? undefined : path.slice(0, MAX_PATH),
  },
  route: {
    wire: { name: 'route', about: 'the name of the route; absent if the request matches none' },
    of: ({ route }) => route?.name,
  },
  allow: {
    wire: { name: 'allow', about: 'whether the call was allowed' },
    of: ({ allow }) => allow,
  },
  shadow: {
    wire: { name: 'shadow', about: '`true`: allowed, but would be denied without shadow mode' },
    of: ({ shadow, allow }) => allow && shadow !== undefined,
    write: (shadow: boolean) => (shadow ? true : undefined),
  },
  reason: {
    wire: { name: 'reason', about: '[the reason](reasons.md)' },
    of: (outcome) => refusalIn(outcome)?.reason,
  },
  detail: {
    wire: { name: 'detail', about: 'what was expected and found' },
    of: (outcome) => optional(refusalIn(outcome)?.detail, detach),
  },
  subject: {
    wire: { name: 'subject', about: '`sub` of the token' },
    of: ({ principal }) => principal?.subject,
  },
  clientId: {
    wire: { name: 'client_id', about: 'the client of the token' },
    of: ({ principal }) => principal?.clientId,
  },
  issuer: {
    wire: { name: 'issuer', about: '`iss` of the token' },
    of: ({ principal }) => principal?.issuer,
  },
  actors: {
    wire: {
      name: 'actors',
      about: '`sub` of the parties that act for the subject (`act`), the current one first, each cut at 128 characters',
    },
    of: ({ principal }) => actorNames(principal),
  },
  method: {
    wire: { name: 'method', about: 'the JSON-RPC method of an MCP message, else the HTTP method' },
    // A line of another program may lack it.
    of: (outcome): string | undefined => intern(methodOf(outcome)),
  },
  tool: {
    wire: { name: 'tool', about: 'the tool that was called' },
    of: (outcome) => optional(toolName(outcome), intern),
  },
  inner: {
    wire: {
      name: 'inner',
      about: 'the tools that the call calls, by `inner` of the policy: at most 128, each cut at 128 characters',
    },
    of: innerTools,
  },
  scope: {
    wire: { name: 'scope', about: 'the scopes of the token' },
    of: ({ principal }) => scopeList(principal?.grantedScopes),
  },
  neededScope: {
    wire: { name: 'needed_scope', about: 'the scopes that the challenge asked the client to get' },
    of: (outcome) => scopeList(refusalIn(outcome)?.scope),
  },
  policy: {
    wire: {
      name: 'policy',
      about: 'the policy file without `.yaml`, `@`, and 12 hex digits of the SHA-256 of its bytes',
    },
    of: ({ route }) => route?.policy?.revision,
  },
  rule: {
    wire: { name: 'rule', about: 'the path in the policy file that decided' },
    of: ({ rule }) => rule,
  },
  input: {
    wire: { name: 'input', about: 'the other values that the policy read; see below' },
    of: inputOf,
    write: (input: DecisionInput) => (Object.keys(input).length === 0 ? undefined : input),
  },
  claims: {
    wire: { name: 'claims', about: 'the claims of the caller that `log.claims` lists' },
    of: ({ principal, details }): Claims | undefined => recordedClaims(principal, details),
  },
  argumentsDigest: {
    wire: {
      name: 'arguments_digest',
      about: 'with `log.arguments: digest`: SHA-256, in base64url, of the canonical arguments of the call of a tool',
    },
    of: argumentsDigest,
  },
  arguments: {
    wire: { name: 'arguments', about: 'the arguments of the call of a tool that `log.arguments` lists' },
    of: shownArguments,
  },
  durationMs: {
    wire: { name: 'duration_ms', about: 'from arrival to decision' },
    own: 'number',
    of: decisionMs,
  },
  approval: {
    wire: { name: 'approval', about: 'the id of the [approval](approvals.md) that the call used, or waits for' },
    own: 'text',
    maxLength: APPROVAL_ID_LENGTH,
    of: ({ approval }) => approval,
  },
  traceId: {
    wire: { name: 'trace_id', about: 'of the trace that the call belongs to; see [traces](#traces)' },
    own: 'text',
    maxLength: TRACE_ID_LENGTH,
    of: ({ call }) => call.trace?.traceId,
  },
  kind: {
    of: kindOf,
  },
  form: {
    of: ({ principal }): TokenForm | undefined => principal?.form,
  },
  /** `exp`. */
  expiresAt: {
    of: ({ principal }) => principal?.expiresAt,
  },
  /** What the client of a refused call got. */
  answer: {
    of: ({ answer }) => answer,
  },
} as const satisfies Readonly<Record<string, OwnRow | CommonRow>>;

type Members = typeof members;
type MembersWhere<Column> = {
  [Name in keyof Members]: Members[Name] extends Column ? Name : never;
}[keyof Members];

/** The record of a decision, without arguments and tokens. */
export type DecisionRecord = {
  readonly [Name in keyof Members]: ReturnType<Members[Name]['of']>;
};

/** The members that a log line has. */
export type LoggedName = MembersWhere<{ readonly wire: object }>;

/** The members that decisions on the same call of a caller have in common. */
export type CommonMembers = Omit<DecisionRecord, MembersWhere<{ readonly own: string }>>;

/** The called tool, or another target, or the method, with the path if it is known. */
export function calledIn({
  tool,
  input,
  method = '',
  path,
}: Pick<DecisionRecord, 'tool' | 'input' | 'method'> & Partial<Pick<DecisionRecord, 'path'>>): string {
  return tool ?? input.targets?.[0]?.name ?? (path === undefined ? method : `${method} ${path}`);
}

/** The time from the arrival of a call to its decision, with three decimals. */
export function decisionMs({ decidedAt, call }: Outcome): number {
  return Math.round((decidedAt - call.startedAt) * 1000) / 1000;
}

/** The method of an MCP message, else that of the request. A caller chooses it: it is shortened. */
export function methodOf({ attempt, call }: RepeatedOutcome): string {
  return truncate((attempt?.kind === 'mcp' ? attempt.method.name : undefined) ?? call.method);
}

/** The tool that was called, if it was one. A caller chooses its name: it is shortened. */
export function toolName({ attempt }: RepeatedOutcome): string | undefined {
  return optional(calledTool(attempt), truncate);
}

/** The most inner calls of a call, and the longest name of a tool among them, that are recorded. */
const MAX_INNER = 128;
/** The longest recorded name of an inner tool; one of this length may have been cut. */
export const MAX_INNER_NAME = 128;

/** The tools that the call calls, by the policy. A caller chooses their names: they are shortened. */
export function innerTools({ attempt, principal, route }: RepeatedOutcome): readonly string[] | undefined {
  const calls = attempt && principal && route?.policy?.innerCalls(attempt);
  if (calls === undefined || calls.length === 0) return undefined;
  return calls.slice(0, MAX_INNER).map((call) => intern((calledTool(call) ?? '').slice(0, MAX_INNER_NAME)));
}

/** The outcome for the caller. */
export function kindOf({ allow, denial, shadow }: RepeatedOutcome): OutcomeKind {
  return outcomeKind({ allow, refusal: denial?.refusal, shadow });
}

/** The policy without its digest, as its file is called. */
export function policyName({ policy }: Pick<DecisionRecord, 'policy'>): string | undefined {
  return policy?.split('@', 1)[0];
}

/** The refusal of the call, or the one that shadow mode withheld. */
export function refusalIn({ denial, shadow }: RepeatedOutcome): ShadowDenial | Denial | undefined {
  return denial ?? shadow;
}

const MAX_TARGETS = 32;
/** The longest claim and the longest name of a target that are logged, in UTF-16 code units of JSON. */
const MAX_LENGTH = 512;
/** The longest method and name of a tool. */
const MAX_NAME = 256;

/** The targets of a message that a policy decided on, unless the member `tool` says all of them. */
export function otherTargets({ attempt, principal, route }: RepeatedOutcome): readonly McpTarget[] | undefined {
  if (attempt?.kind !== 'mcp' || principal === undefined || route?.policy === undefined) return undefined;
  const { method, targets } = attempt;
  const isSaid = targets.length === 0 || (method.hasArguments && targets.every(({ kind }) => kind === 'tool'));
  return isSaid ? undefined : targets.slice(0, MAX_TARGETS);
}

/** The name of a target as it is recorded. */
export function targetName({ name }: McpTarget): string {
  return name.slice(0, MAX_LENGTH);
}

function inputOf(outcome: RepeatedOutcome): DecisionInput {
  const { principal, route } = outcome;
  const input = principal === undefined || route?.policy === undefined ? {} : callerInput(principal, route.policy);
  const targets = otherTargets(outcome)?.map((target) => ({ kind: target.kind, name: intern(targetName(target)) }));
  return targets === undefined ? input : { ...input, targets };
}

/** The longest name of an actor. */
const MAX_ACTOR = 128;

/** A principal stays the same object while its token is cached. */
const actorTexts = new WeakMap<Principal, readonly string[]>();

function actorNames(principal: Principal | undefined): readonly string[] | undefined {
  if (principal?.actors === undefined) return undefined;
  const known = actorTexts.get(principal) ?? principal.actors.map(({ subject }) => subject.slice(0, MAX_ACTOR));
  actorTexts.set(principal, known);
  return known;
}

/** A principal stays the same object while its token is cached. */
const inputs = new WeakMap<Principal, { readonly policy: Policy; readonly input: DecisionInput }>();

/** The part of `input` that depends on the caller and the policy alone. It is made once for each cached token. */
function callerInput(principal: Principal, policy: Policy): DecisionInput {
  const cached = inputs.get(principal);
  if (cached?.policy === policy) return cached.input;
  const claims = Object.entries(policy.claimsRead(principal.claims));
  const { short, long } = Object.groupBy(claims, ([, value]) => (isShort(value) ? 'short' : 'long'));
  const { expiresAt, issuedAt, actors } = principal;
  const isCut = actors?.some(({ subject }) => subject.length > MAX_ACTOR) === true;
  const omitted = [...(long ?? []).map(([name]) => name), ...(isCut ? ['act'] : [])];
  const input: DecisionInput = {
    ...(short !== undefined && { claims: Object.fromEntries(short) }),
    ...(omitted.length > 0 && { omitted }),
    ...(expiresAt !== undefined && issuedAt !== undefined && { lifetime: expiresAt - issuedAt }),
  };
  inputs.set(principal, { policy, input });
  return input;
}

function isShort(value: unknown): boolean {
  return (writtenJson(value)?.length ?? Infinity) <= MAX_LENGTH;
}

function scopeList(scopes: readonly string[] = []): string | undefined {
  return scopes.length === 0 ? undefined : scopes.join(' ');
}

function optional(text: string | undefined, map: (text: string) => string): string | undefined {
  return text === undefined ? undefined : map(text);
}

function truncate(name: string): string {
  return name.length > MAX_NAME ? `${name.slice(0, MAX_NAME)}…` : name;
}

/** A copy of a text. A part of a message keeps the whole message in memory, with its arguments. */
function detach(text: string): string {
  return Buffer.from(text, 'utf16le').toString('utf16le');
}

/** A copy of a name, the same for each call that has it: most calls name one of a few tools. */
const intern = remembered(detach);
