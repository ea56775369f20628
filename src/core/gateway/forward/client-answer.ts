import type { ServerResponse } from 'node:http';
import { Gatherer } from '../../lib/gatherer.ts';
import type { ResponseHeaders } from './response-headers.ts';

/** A complete body up to this size is written in one piece with its header section. */
const MAX_WHOLE_BYTES = 16 * 1024;

/** The reason phrases that Node accepts. Clients SHOULD ignore the phrase, RFC 9112 §4. */
const reasonPhrase = /^[\t -~]*$/;

interface Head {
  readonly status: number;
  readonly statusMessage: string;
  readonly headers: ResponseHeaders;
}

/**
 * The client's side of an answer. It is held until `show`: most answers are complete by then, and go out in one write.
 */
export class ClientAnswer {
  readonly #response: ServerResponse;
  /** Undefined once it is sent. */
  #head: Head | undefined;
  /** The first bytes of the body, which may be all of it. */
  #held: Gatherer | undefined;
  #isShown = false;

  constructor(response: ServerResponse) {
    this.#response = response;
  }

  begin(status: number, statusMessage: string, headers: ResponseHeaders): void {
    this.#head = { status, statusMessage, headers };
  }

  /** @returns false if the writer should wait for `drain`. */
  write(chunk: Buffer): boolean {
    if (this.#isShown) return this.#response.write(chunk);
    const isFirst = this.#held === undefined;
    this.#held ??= new Gatherer();
    this.#held.push(chunk);
    return isFirst || this.#held.length <= MAX_WHOLE_BYTES || this.show();
  }

  /**
   * Sends the header section, and the first bytes of the body if there are any.
   *
   * @returns false if the writer should wait for `drain`.
   */
  show(): boolean {
    if (this.#isShown) return true;
    this.#isShown = true;
    this.#sendHead();
    const held = this.#take();
    if (held !== undefined) return this.#response.write(held);
    this.#response.flushHeaders();
    return true;
  }

  end(): void {
    const held = this.#take();
    this.#sendHead(held?.length);
    if (held === undefined) this.#response.end();
    // Node writes a string together with the header section, without a copy.
    else if (held.length <= MAX_WHOLE_BYTES) this.#response.end(this.#framed(held.toString('latin1')), 'latin1');
    else this.#response.end(held);
  }

  #take(): Buffer | undefined {
    const held = this.#held?.take();
    this.#held = undefined;
    return held;
  }

  /** The rest of the message after its header section. Node itself would write a chunked body in five pieces. */
  #framed(body: string): string {
    if (!this.#response.chunkedEncoding) return body;
    this.#response.chunkedEncoding = false;
    // RFC 9112 §7.1: one chunk, the last chunk, and no trailers.
    return `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
  }

  /** @param length The length of the body if it is complete. An event stream is always chunked, R-134. */
  #sendHead(length?: number): void {
    if (this.#head === undefined) return;
    const { status, statusMessage, headers } = this.#head;
    this.#head = undefined;
    if (headers.hasDate) this.#response.sendDate = false;
    if (length !== undefined && !headers.hasLength && !headers.isEventStream)
      headers.fields.push('Content-Length', String(length));
    this.#response.writeHead(status, reasonPhrase.test(statusMessage) ? statusMessage : undefined, headers.fields);
  }
}
