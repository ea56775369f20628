import type { McpTarget } from './policy.ts';

/**
 * The member `input` of a logged decision: what the decision depended on, besides the other members of the line. It is
 * enough to decide again with an edited policy, and holds only what the policy reads. It never holds arguments, which
 * are part of the request body.
 */
export interface DecisionInput {
  /** The claims that the policy reads, by their names or JSON Pointers as it has them. */
  readonly claims?: Readonly<Record<string, unknown>>;
  /** The names of claims that are too long to be logged. */
  readonly omitted?: readonly string[];
  /** `exp - iat`, in seconds. */
  readonly lifetime?: number;
  /** What an MCP message acts on, where that is not the line's `tool` alone. */
  readonly targets?: readonly McpTarget[];
}
