import type { Reason } from './denial.ts';
import type { Principal } from './principal.ts';

/** The reasons that a policy may give; each means what `docs/reasons.md` says of it. */
export type PolicyReason = Extract<
  Reason,
  | 'scope.insufficient'
  | 'claim.denied'
  | 'lifetime.exceeded'
  | 'alternatives.exhausted'
  | 'exclusion.matched'
  | 'tool.unlisted'
  | 'method.unlisted'
  | 'policy.error'
>;

/** What a caller attempts: a plain HTTP request, or one MCP message. */
export type Attempt =
  | { readonly kind: 'http' }
  /** `method` is the JSON-RPC method, undefined for a GET, a DELETE or a client's response; `tool` with `tools/call` only. */
  | { readonly kind: 'mcp'; readonly method: string | undefined; readonly tool: string | undefined };

/** A refusal by a policy. `scope` lists all that the operation needs and is empty unless a new token with it would mend this. */
export interface PolicyDenial {
  readonly reason: PolicyReason;
  /** For operators: what was wanted, what was found. */
  readonly detail: string;
  readonly scope: readonly string[];
  /** Path into the policy file, such as `tools.transfer_funds.claims.role`. */
  readonly rule: string;
}

/** The answer of a policy; both are normal answers. */
export type Decision =
  | { readonly allow: true; readonly rule: string; readonly shadow?: PolicyDenial }
  | { readonly allow: false; readonly rule: string; readonly denial: PolicyDenial };

/** A compiled policy: decides without parsing, compiling or allocating more than its answer. */
export interface Policy {
  /** The file's name without `.yaml`. */
  readonly name: string;
  /** The top-level scope: what everybody needs to begin, told in the challenge of a 401. */
  readonly scope: readonly string[];
  /**
   * The name or pattern under `tools` that covers a tool, as written; what may become a metric label, since no caller
   * can make one up.
   */
  toolEntry(tool: string): string | undefined;
  /** With `mode: shadow` a denial becomes `{ allow: true, shadow: denial }`. Never throws: an error inside is a denial `policy.error`. */
  decide(principal: Principal, attempt: Attempt): Decision;
}
