import type { Socket } from 'node:net';
import type { buildConnector } from 'undici';
import createConnector from 'undici/lib/core/connect.js';

/**
 * Creates the connections to upstreams, as undici makes them, with two faults of its HTTP client repaired:
 *
 * - An upstream that answers during an upload and closes keeps its answer: a failed write does not end the connection
 *   while there may be bytes to read.
 * - An unasked `100 Continue`, which undici takes for a broken answer, is read as any other interim answer.
 */
export function createUpstreamConnector(timeoutMs: number): buildConnector.connector {
  const connect = createConnector({ allowH2: false, timeout: timeoutMs });
  return (options, done) =>
    connect(options, (...outcome) => {
      const [error, socket] = outcome;
      if (error === null) repair(socket);
      done(...outcome);
    });
}

type Done = (error?: Error | null) => void;

function repair(socket: Socket): void {
  const interim = new InterimAnswers();
  let isBroken = false;
  // RFC 9112 §9.5: an upstream may answer and close before it has read the request. If it has not answered, the
  // connection fails when it is read.
  const outlive =
    (done: Done): Done =>
    (error) => {
      isBroken ||= error instanceof Error && 'code' in error && (error.code === 'EPIPE' || error.code === 'ECONNRESET');
      done(isBroken ? null : error);
    };
  const noteRequest = (chunk: unknown): void => {
    // undici writes a header section as text. The framing of a chunked body, its only other text, begins with CR.
    if (typeof chunk === 'string' && !chunk.startsWith('\r')) interim.expect();
  };
  const write = socket._write.bind(socket);
  const writev = socket._writev?.bind(socket);
  const read = socket.read.bind(socket);
  socket._write = (chunk, encoding, done) => {
    noteRequest(chunk);
    if (isBroken) done();
    else write(chunk, encoding, outlive(done));
  };
  socket._writev = (chunks, done) => {
    for (const { chunk } of chunks) noteRequest(chunk);
    if (isBroken) done();
    else writev?.(chunks, outlive(done));
  };
  socket.read = (size) => {
    const chunk = read(size) as Buffer | null;
    if (chunk !== null) interim.accept(chunk);
    return chunk;
  };
}

const VERSION = Buffer.from('HTTP/1.');
/** Where the status begins, behind the rest of the version and a space. */
const STATUS = VERSION.length + 2;
const [ZERO, ONE, TWO, LF, CR] = [0x30, 0x31, 0x32, 0x0a, 0x0d];
const END_OF_HEADER_SECTION = Buffer.from('\r\n\r\n');

/** Makes 102 of the status of each 100 before an answer. Neither is forwarded, RFC 9110 §15.2. */
class InterimAnswers {
  /** How many bytes of an answer have come; undefined once it is final, or not as HTTP says. */
  #place: number | undefined;
  /** How many bytes of the end of its header section have come. */
  #end = 0;
  #isTen = false;

  /** A request was sent: the next bytes are an answer. */
  expect(): void {
    this.#place = 0;
    this.#end = 0;
  }

  /** Changes the bytes that were received. */
  accept(chunk: Buffer): void {
    for (let at = 0; at < chunk.length && this.#place !== undefined; at += 1) {
      const byte = chunk[at];
      // RFC 9112 §2.2: undici skips line ends before an answer.
      if (this.#place === 0 && (byte === CR || byte === LF)) continue;
      if (!isInterim(this.#place, byte)) {
        this.#place = undefined;
        return;
      }
      if (this.#place === STATUS + 1) this.#isTen = byte === ZERO;
      if (this.#place === STATUS + 2 && this.#isTen && byte === ZERO) chunk[at] = TWO;
      this.#place += 1;
      if (byte === END_OF_HEADER_SECTION[this.#end]) this.#end += 1;
      else this.#end = byte === CR ? 1 : 0;
      if (this.#end === END_OF_HEADER_SECTION.length) this.expect();
    }
  }
}

/** Whether a byte may stand at a place of an interim answer. */
function isInterim(place: number, byte: number | undefined): boolean {
  if (place < VERSION.length) return byte === VERSION[place];
  return place !== STATUS || byte === ONE;
}
