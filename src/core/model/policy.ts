import type { PolicyDenial } from './denial.ts';
import type { ListingKey, McpMethod, TargetKind } from './mcp-method.ts';
import type { Claims, Principal } from './principal.ts';

/** A target that an MCP message acts on. */
export interface McpTarget {
  readonly kind: TargetKind;
  /** As it was sent: a tool's or prompt's name, a resource's URI, a URI template. */
  readonly name: string;
}

/** The attempt of one MCP message. */
export interface McpAttempt {
  readonly kind: 'mcp';
  /** The JSON-RPC method, without a name for a GET, a DELETE or a client's response. */
  readonly method: McpMethod;
  /**
   * Everything that must be allowed: what its method says that it acts on. A completion acts
   * on the prompt of its `ref/prompt` or the template of its `ref/resource`, a subscription on each resource.
   */
  readonly targets: readonly McpTarget[];
  /**
   * `params.arguments` of `tools/call` and `prompts/get`; {@link unknownArguments} for an attempt that a log recorded.
   */
  readonly arguments: unknown;
  /** Reads them with the digits of numbers that JavaScript would change; undefined where it changes none. */
  readonly exactArguments?: (() => unknown) | undefined;
  /** The first member from which a server might read arguments besides `params.arguments`; undefined: none. */
  readonly otherMember?: string | undefined;
  /** Of an attempt that a log recorded: the tools that the call calls, which its arguments say otherwise. */
  readonly inner?: readonly string[] | undefined;
}

/** Stands for arguments that were not recorded: a decision then leaves out the conditions on them. */
export const unknownArguments: unique symbol = Symbol('unknown arguments');

interface HttpAttempt {
  readonly kind: 'http';
  /** Its method and canonical path, `GET /orders`; undefined if it is not known, or its policy lists no requests. */
  readonly request?: string;
}

/** The attempt of a caller: a plain HTTP request, or one MCP message. */
export type Attempt = HttpAttempt | McpAttempt;

/** `params.arguments` of an attempt; undefined for one without. */
export function argumentsOf(attempt: Attempt): unknown {
  return attempt.kind === 'mcp' ? attempt.arguments : undefined;
}

/** The tool that an attempt calls; undefined for any other attempt, and before it is known. */
export function calledTool(attempt: Attempt | undefined): string | undefined {
  // Another method may name a tool too, and does not call it: it has no arguments for it.
  if (attempt?.kind !== 'mcp' || !attempt.method.hasArguments) return undefined;
  return attempt.targets.find(({ kind }) => kind === 'tool')?.name;
}

/** A decision on a call. Both outcomes are normal answers. */
export type Decision =
  | { readonly allow: true; readonly rule: string; readonly shadow?: PolicyDenial }
  | { readonly allow: false; readonly rule: string; readonly denial: PolicyDenial };

/** The denial of a decision, or the one that shadow mode withheld. */
export function denialIn(decision: Decision): PolicyDenial | undefined {
  return decision.allow ? decision.shadow : decision.denial;
}

/** The decision of a policy, with the plan that later questions on the same call are put to. */
export type PolicyDecision = Decision & { readonly plan: Plan };

/** The way in which a policy decides calls of one kind: its conditions and rules, in their order. */
export interface Plan {
  /**
   * All scopes that are necessary for a call that the policy allows, in the order of a challenge. Empty if a condition
   * cannot be evaluated, which is possible in shadow mode. Never throws.
   */
  neededScopes(principal: Principal): readonly string[];
  /** The operator's words for a caller that is refused such a call for good. */
  readonly because: string | undefined;
  /** Where the policy reads the arguments of a call: keys from the top of them. An empty path: all of them. */
  argumentsRead(attempt: Attempt): readonly (readonly string[])[];
  /** What the parts of the language say of such calls; see {@link PartKey}. */
  readonly parts: Parts;
}

/** By their keys. */
type Parts = ReadonlyMap<PartKey, object>;

/**
 * Names a part of the language that a capability puts into effect, such as quotas. It carries the types of what the
 * part makes of a policy and of the plan of a call, so that neither need know it.
 */
export class PartKey<OfPolicy extends object = object, OfPlan extends object = object> {
  /** In messages. */
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }

  /** The part of a policy; undefined: no entry has it. */
  inPolicy({ parts }: { readonly parts: Parts }): OfPolicy | undefined {
    return parts.get(this) as OfPolicy | undefined;
  }

  /** The part of a plan; undefined: the policy has none. */
  inPlan({ parts }: { readonly parts: Parts }): OfPlan | undefined {
    return parts.get(this) as OfPlan | undefined;
  }
}

/** A condition of a policy, evaluated for one caller and one call. */
export interface Explanation {
  /** Path into the policy file; `''` for the whole of it. */
  readonly rule: string;
  readonly kind:
    | 'scope'
    | 'claim'
    | 'actors'
    | 'argument'
    | 'variable'
    | 'lifetime'
    | 'history'
    | 'approval'
    | 'listed'
    | 'inner'
    | 'any'
    | 'all'
    | 'not';
  /**
   * `error`: it could not be evaluated, which denies the call, under a `not` too. `unknown`: it depends on
   * {@link unknownArguments}, of kind `history` on earlier calls, or of kind `approval` on a person.
   */
  readonly outcome: 'holds' | 'fails' | 'error' | 'unknown';
  /** The claim, argument or variable that it reads, by name or JSON Pointer as written. */
  readonly reads?: string;
  /** In words, as in a denial's detail; an argument's value is shown too, because explanations are never logged. */
  readonly wanted: string;
  readonly found: string;
  /** The conditions that it consists of. */
  readonly parts: readonly Explanation[];
}

/** A compiled policy: decides without parsing or compiling anything. */
export interface Policy {
  /** The file's name without `.yaml`. */
  readonly name: string;
  /** The name, and the first 12 hex digits of the SHA-256 of its file: `orders@3f9c1b04a5e2`. */
  readonly revision: string;
  /** The top-level scope, which every caller needs. The challenge of a 401 names it. */
  readonly scope: readonly string[];
  /** Every scope that a challenge may name, whatever is called; those under a `not` are none. */
  readonly scopes: readonly string[];
  /** Whether lists show only what {@link Policy.couldCall} allows. Always `show` with `mode: shadow`. */
  readonly lists: 'filter' | 'show';
  /** Whether the policy may decide differently for two callers with valid tokens: it has a rule, and enforces it. */
  readonly distinguishesCallers: boolean;
  /** The name or pattern under `tools` that covers a tool, as written. No caller chooses it: it may label metrics. */
  toolEntry(tool: string): string | undefined;
  /** The operator's words for a caller that is refused a target: those of its entry, or else of the policy. */
  because(target: McpTarget): string | undefined;
  /**
   * Whether this caller could use the target with some token and some arguments. Missing scopes and the lifetime of the
   * token do not count. Allocates nothing for tools, prompts and resources in lower case: lists are long.
   */
  couldCall(principal: Principal, target: McpTarget): boolean;
  /**
   * With `mode: shadow` a denial becomes `{ allow: true, shadow: denial }`. Never throws: an error is a denial
   * `policy.error`.
   */
  decide(principal: Principal, attempt: Attempt): PolicyDecision;
  /**
   * The calls that a call makes of other tools, and those that these make, each before its own: `inner` of entries. The
   * call is decided as each of them too. Empty for most calls; as far as they can be read. Never throws.
   */
  innerCalls(attempt: Attempt): readonly McpAttempt[];
  /** Whether a tool calls other tools, as its entry says. */
  callsOthers(tool: string): boolean;
  /** The parts of the language that its entries have. */
  readonly parts: Parts;
  /** Whether it lists requests, so that it decides a request by its method and path. */
  readonly listsRequests: boolean;
  /** What it lists: the key, and the name or pattern as written. */
  readonly listed: readonly { readonly key: ListingKey; readonly name: string }[];
  /** The path of every rule that a decision can name or depend on, in the order of the conditions. */
  readonly rules: readonly string[];
  /** Whether a decision needs the claims that the gateway adds (`gatewayClaims`). */
  readonly readsGatewayClaims: boolean;
  /** The claims that it reads, by their names or JSON Pointers as written; those that a token lacks are left out. */
  claimsRead(claims: Claims): Readonly<Record<string, unknown>>;
}
