import type { BodyFilter } from '../core/gateway/forward/answer-messages.ts';
import { Gatherer } from '../core/lib/gatherer.ts';
import { utf8Text } from './utf8.ts';
import { Denial } from '../core/model/denial.ts';
import type { Action } from '../core/model/grant.ts';

/** A change of the messages in an answer. */
export interface Rewriting {
  /** Whether a message, or bytes with several, may hold something to change. Other bytes are not even decoded. */
  concerns(part: Buffer | string): boolean;
  /** The changed text of a message that it concerns; undefined where nothing changes. May throw for unreadable text. */
  rewrite(text: string): string | undefined;
  /** Whether everything must be read. A message that is too long or has no end is not sent then. */
  readonly mustRead: boolean;
}

/** A longer body or event is not read, since the gateway would have to hold all of it. */
export const MAX_READ_BYTES = 8 * 1024 * 1024;

/** The byte that every message has, a batch too. No client takes bytes without it for a message. */
export const OPEN_BRACE = 0x7b;

/** The filter for an `application/json` body: one message, which is read at its end. */
export class JsonFilter implements BodyFilter {
  readonly #rewriting: Rewriting;
  readonly #held = new Gatherer(MAX_READ_BYTES);
  #isTooLong = false;

  constructor(rewriting: Rewriting) {
    this.#rewriting = rewriting;
  }

  push(chunk: Buffer): readonly Buffer[] {
    if (this.#isTooLong) return [chunk];
    if (this.#held.length + chunk.length <= MAX_READ_BYTES) {
      this.#held.push(chunk);
      return [];
    }
    if (this.#rewriting.mustRead) throw new RangeError(`a message of more than ${MAX_READ_BYTES} bytes`);
    this.#isTooLong = true;
    return this.#held.length === 0 ? [chunk] : [this.#held.take(), chunk];
  }

  end(): readonly Buffer[] {
    if (this.#held.length === 0) return [];
    const body = this.#held.take();
    return [body.includes(OPEN_BRACE) && this.#rewriting.concerns(body) ? this.#rewritten(body) : body];
  }

  #rewritten(body: Buffer): Buffer {
    const text = utf8Text(body);
    if (text === undefined && this.#rewriting.mustRead)
      throw new Denial('upstream.invalid', 'a list that is not UTF-8 cannot be filtered');
    const changed = text === undefined ? undefined : this.#rewriting.rewrite(withoutBom(text));
    return changed === undefined ? body : Buffer.from(changed);
  }
}

/** RFC 8259 §8.1: a reader may ignore the BOM that a text begins with. */
export function withoutBom(text: string): string {
  return text.startsWith('\uFEFF') ? text.slice(1) : text;
}

/**
 * Creates the filter for a body that must be read and cannot be. An empty body passes.
 *
 * @returns a filter that throws {Denial} `upstream.invalid` at the first byte.
 */
export function createUnreadableFilter(): BodyFilter {
  return {
    push() {
      throw new Denial(
        'upstream.invalid',
        'a result that must be read is compressed, or neither JSON nor an event stream',
      );
    },
    end: () => [],
  };
}

/** Creates the filter that drops a body, for answers that have nothing to say. */
export function createDroppingFilter(): BodyFilter {
  return { push: () => [], end: () => [] };
}

const subscriptionId = 'io.modelcontextprotocol/subscriptionId';

/**
 * The event that ends a subscription as its server would (MCP 2026-07-28, `SubscriptionsListenResult`), so that the
 * client knows that the subscription is over and not interrupted; undefined for any other stream. Streams of legacy
 * revisions have no such event, and clients connect again.
 */
export function subscriptionEnd({ attempt, era, messageId }: Action): string | undefined {
  if (era !== 'modern' || attempt.kind !== 'mcp' || attempt.method.target !== 'subscriptions') return undefined;
  const result = { resultType: 'complete', _meta: { [subscriptionId]: messageId } };
  return messageEvent({ jsonrpc: '2.0', id: messageId, result });
}

/** The event that answers the request of a stream with a refusal; undefined if the stream answers none. */
export function refusalEvent({ messageId }: Action, decision: string, { refusal, reason }: Denial): string | undefined {
  if (messageId === null) return undefined;
  const { status: code, message } = refusal;
  return messageEvent({ jsonrpc: '2.0', id: messageId, error: { code, message, data: { reason, decision } } });
}

function messageEvent(message: object): string {
  return `event: message\ndata: ${JSON.stringify(message)}\n\n`;
}
