import type { McpTarget } from './policy.ts';

/**
 * What a decision rested on, besides the members of its line that say so already: enough to decide again, by an edited
 * policy, without anything that the policy did not ask for. Never arguments: they are a part of the request's body.
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
