/**
 * The smallest possible proxy on Node: Node's server, undici's dispatcher, no authorization. The difference between its
 * cost and the gateway's is the cost of authorization. It has each cheap means that we know: small bodies pass whole, and
 * an answer that arrives whole leaves in one write.
 *
 * @module
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { Pool, type Dispatcher } from 'undici';

const MAX_BODY_BYTES = 64 * 1024;
/** Node writes a string together with the header section. A longer one costs more than another write. */
const MAX_ANSWER_BYTES = 16 * 1024;

const pool = new Pool(process.env['UPSTREAM'] ?? '', { connections: null, pipelining: 1, bodyTimeout: 0 });
const notForUpstream = new Set(['connection', 'host', 'authorization', 'transfer-encoding', 'keep-alive', 'upgrade']);
const notForClient = new Set(['connection', 'transfer-encoding', 'keep-alive']);

createServer((request, response) => {
  if (request.method === 'GET') forward(request, response, null);
  else if (Number(request.headers['content-length']) <= MAX_BODY_BYTES) forwardWhole(request, response);
  else forward(request, response, request);
}).listen(Number(process.env['PORT']), '127.0.0.1');

/** Forwards a request with its whole body, which costs undici less than a stream. */
function forwardWhole(request: IncomingMessage, response: ServerResponse): void {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => forward(request, response, Buffer.concat(chunks)));
}

function forward(
  { url = '/', method = 'GET', rawHeaders }: IncomingMessage,
  response: ServerResponse,
  body: Buffer | IncomingMessage | null,
): void {
  const headers: string[] = [];
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string;
    if (!notForUpstream.has(name.toLowerCase())) headers.push(name, rawHeaders[i + 1] as string);
  }
  pool.dispatch({ path: url, method, headers, body }, new Relay(response));
}

class Relay implements Dispatcher.DispatchHandler {
  readonly #response: ServerResponse;
  readonly #fields: string[] = [];
  #controller: Dispatcher.DispatchController | undefined;
  #status = 0;
  #hasLength = false;
  /** The first bytes of the body, until it is known whether more follow. */
  #held: Buffer | undefined;
  #isShown = false;

  constructor(response: ServerResponse) {
    this.#response = response;
    response.on('close', () => {
      if (!response.writableFinished) this.#controller?.abort(new Error('the client went away'));
    });
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
  }

  onResponseStart({ rawHeaders }: Dispatcher.DispatchController, status: number): void {
    const received = rawHeaders as readonly Buffer[];
    this.#status = status;
    for (let i = 0; i < received.length; i += 2) {
      const name = (received[i] as Buffer).toString('latin1');
      const lowerCase = name.toLowerCase();
      if (notForClient.has(lowerCase)) continue;
      if (lowerCase === 'content-length') this.#hasLength = true;
      this.#fields.push(name, (received[i + 1] as Buffer).toString('latin1'));
    }
    // After the bytes that arrived with the header section: most answers are complete by then.
    process.nextTick(show, this);
  }

  onResponseData(_: unknown, chunk: Buffer): void {
    if (!this.#isShown && this.#held === undefined) {
      this.#held = chunk;
      return;
    }
    this.show();
    this.#response.write(chunk);
  }

  onResponseEnd(): void {
    const held = this.#held;
    if (!this.#isShown && held !== undefined) {
      this.#endWhole(held);
      return;
    }
    this.show();
    this.#response.end();
  }

  onResponseError(): void {
    this.#isShown = true;
    this.#response.destroy();
  }

  /** Sends what has arrived so far. */
  show(): void {
    if (this.#isShown) return;
    this.#sendHead();
    if (this.#held === undefined) this.#response.flushHeaders();
    else this.#response.write(this.#held);
  }

  #endWhole(held: Buffer): void {
    if (!this.#hasLength) this.#fields.push('Content-Length', String(held.length));
    this.#sendHead();
    if (held.length > MAX_ANSWER_BYTES) this.#response.end(held);
    else this.#response.end(held.toString('latin1'), 'latin1');
  }

  #sendHead(): void {
    this.#isShown = true;
    this.#response.sendDate = false;
    this.#response.writeHead(this.#status, this.#fields);
  }
}

function show(relay: Relay): void {
  relay.show();
}
