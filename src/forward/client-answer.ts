import type { ServerResponse } from 'node:http';
import type { ResponseHeaders } from './response-headers.ts';

/** A body up to this size that is whole when it comes goes out in one piece with its header section. */
const MAX_WHOLE_BYTES = 16 * 1024;

/** What Node sends on; it throws on the rest, which clients SHOULD ignore anyway, RFC 9112 §4. */
const reasonPhrase = /^[\t -~]*$/;

/** A header section that was not sent yet. */
interface Head {
  readonly status: number;
  readonly statusMessage: string;
  readonly headers: ResponseHeaders;
}

/** The client's side of an answer. Until it is shown it is held, since most are whole by then: one write and no chunks. */
export class ClientAnswer {
  readonly #response: ServerResponse;
  /** Until it was sent. */
  #head: Head | undefined;
  /** The first bytes of the body, until it is known whether they are the last ones too. */
  #held: Buffer | undefined;
  #isShown = false;

  constructor(response: ServerResponse) {
    this.#response = response;
  }

  begin(status: number, statusMessage: string, headers: ResponseHeaders): void {
    this.#head = { status, statusMessage, headers };
  }

  /** @returns false where no more should come before `drain`. */
  write(chunk: Buffer): boolean {
    if (this.#isShown) return this.#response.write(chunk);
    if (this.#held === undefined) {
      this.#held = chunk;
      return true;
    }
    this.#held = Buffer.concat([this.#held, chunk]);
    return this.show();
  }

  /**
   * Lets go what has come so far: the header section, with the first bytes of the body or without.
   *
   * @returns false where no more should come before `drain`.
   */
  show(): boolean {
    if (this.#isShown) return true;
    this.#isShown = true;
    this.#sendHead();
    const held = this.#held;
    this.#held = undefined;
    if (held !== undefined) return this.#response.write(held);
    this.#response.flushHeaders();
    return true;
  }

  end(): void {
    const held = this.#held;
    this.#held = undefined;
    this.#sendHead(held?.length);
    if (held === undefined) this.#response.end();
    // Node joins a string with the header section, and copies neither.
    else if (held.length <= MAX_WHOLE_BYTES) this.#response.end(held.toString('latin1'), 'latin1');
    else this.#response.end(held);
  }

  /**
   * @param length of the body, where it is known: chunks would cost a write more. Not of an event stream, of which one piece
   *   may look like the whole.
   */
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
