import type { Denial } from '../../model/denial.ts';
import type { Action, GrantedCall } from '../../model/grant.ts';
import type { ResponseHeaders } from './response-headers.ts';

/** Changes the body of an answer on its way to the client. If a method throws, the answer ends there. */
export interface BodyFilter {
  /**
   * Reads the next chunk, or undefined for the end, before the filter takes it. The filter must not take it until the
   * promise is fulfilled. Default: nothing is needed.
   */
  readonly prepare?: (chunk: Buffer | undefined) => Promise<void> | undefined;
  /** Takes the next chunk; returns what can be sent now, which may be nothing. */
  push(chunk: Buffer): readonly Buffer[];
  /** Returns what remains to be sent at the end of the body. */
  end(): readonly Buffer[];
}

/** The changes that an answer may need. */
export interface AnswerChanges {
  /** Whether messages may be changed, in any form of the answer. */
  readonly rewrites: boolean;
  /** Chooses the filter for an answer by its header section and status; undefined for an answer that needs none. */
  readonly choose: (answer: ResponseHeaders, status: number) => BodyFilter | undefined;
}

/** The changes that a successful answer to a call may need. */
export interface AnswerFilter extends AnswerChanges {
  /** The encoding that the upstream may use; undefined for those that the client accepts. */
  readonly acceptEncoding: 'identity' | undefined;
  /** The changes that an answer with a status of 300 or above may need; undefined for none. */
  readonly ofErrors: AnswerChanges | undefined;
}

/** What a route knows of the messages in its answers. Without it answers pass as they come. */
export interface AnswerMessages {
  filter(granted: Pick<GrantedCall, 'call' | 'grant' | 'counted'>): AnswerFilter;
  /** The last event of a stream that the gateway ends; undefined: the stream has none. */
  endOfStream(action: Action): string | undefined;
  /** The event that answers the request of a stream with a refusal; undefined if the stream answers none. */
  refusalEvent(action: Action, decision: string, denial: Denial): string | undefined;
}
