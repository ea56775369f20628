import type { Reason } from './denial.ts';
import type { Principal } from './principal.ts';

/** The reasons that a policy may give; each means what `docs/reasons.md` says of it. */
export type PolicyReason = Extract<
  Reason,
  | 'scope.insufficient'
  | 'claim.denied'
  | 'argument.denied'
  | 'lifetime.exceeded'
  | 'alternatives.exhausted'
  | 'exclusion.matched'
  | 'tool.unlisted'
  | 'resource.unlisted'
  | 'prompt.unlisted'
  | 'method.unlisted'
  | 'policy.error'
>;

/** What an MCP message acts on. */
export interface McpTarget {
  /** `template`: an RFC 6570 URI template, which stands for resources and is listed among them. */
  readonly kind: 'tool' | 'resource' | 'template' | 'prompt';
  /** As it was sent: a tool's or prompt's name, a resource's URI, a URI template. */
  readonly name: string;
}

/** What one MCP message attempts. */
export interface McpAttempt {
  readonly kind: 'mcp';
  /** The JSON-RPC method; undefined for a GET, a DELETE or a client's response. */
  readonly method: string | undefined;
  /**
   * Everything that must be allowed. A tool of `tools/call`; a prompt of `prompts/get`; a resource of `resources/read`,
   * `resources/subscribe` and `resources/unsubscribe`; each of the `resourceSubscriptions` of `subscriptions/listen`; of
   * `completion/complete` the prompt of a `ref/prompt` or the template of a `ref/resource`. Of other methods none.
   */
  readonly targets: readonly McpTarget[];
  /** `params.arguments` of `tools/call` and `prompts/get`. */
  readonly arguments: unknown;
}

/** What a caller attempts: a plain HTTP request, or one MCP message. */
export type Attempt = { readonly kind: 'http' } | McpAttempt;

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

/** A compiled policy: decides without parsing or compiling anything. */
export interface Policy {
  /** The file's name without `.yaml`. */
  readonly name: string;
  /** The top-level scope: what everybody needs to begin, told in the challenge of a 401. */
  readonly scope: readonly string[];
  /** Whether lists are narrowed to what {@link Policy.couldCall} says. `show` with `mode: shadow`, which changes nothing. */
  readonly lists: 'filter' | 'show';
  /**
   * The name or pattern under `tools` that covers a tool, as written; what may become a metric label, since no caller
   * can make one up.
   */
  toolEntry(tool: string): string | undefined;
  /**
   * Whether some token of this caller could call it: a scope may be missing or a token live too long, arguments are not
   * known yet. Allocates nothing for tools, prompts and resources in lower case: lists are long.
   */
  couldCall(principal: Principal, target: McpTarget): boolean;
  /** With `mode: shadow` a denial becomes `{ allow: true, shadow: denial }`. Never throws: an error inside is a denial `policy.error`. */
  decide(principal: Principal, attempt: Attempt): Decision;
}
