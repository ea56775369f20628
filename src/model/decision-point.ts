import type { Call } from './call.ts';
import type { Grant } from './grant.ts';
import type { McpTarget } from './policy.ts';

/** An external decision point, AuthZEN Authorization API 1.0, as `decision_points` describes it. */
export interface DecisionPointSettings {
  readonly name: string;
  /** Its identifier, which its metadata must repeat byte for byte. */
  readonly url: string;
  /** Sent as `Authorization: Bearer`. */
  readonly token: string | undefined;
  /** The limit of one question, with everything that it needs. */
  readonly timeoutMs: number;
  /** Whether it gets the arguments of tools and prompts. */
  readonly sendsArguments: boolean;
}

/**
 * Asks a decision point which entries of a list the caller may use: one boolean for each, in their order.
 *
 * @throws {Denial} `decision_point.unavailable` without an answer.
 */
export type AskAboutList = (call: Call, grant: Grant, entries: readonly McpTarget[]) => Promise<readonly boolean[]>;
