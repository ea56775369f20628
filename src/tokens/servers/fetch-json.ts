import { parsedJson } from '../../core/lib/json/parsed.ts';
import type { ServerAnswer } from '../../ports/authorization-server-client.ts';
import type { ClientRequest, IncomingMessage } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { Gatherer } from '../../core/lib/gatherer.ts';
import { http } from '../../core/lib/http/node-http.ts';
import { openRequest } from '../../ports/own-requests.ts';
import { withoutQuery } from '../../core/lib/wording.ts';

/** The bounds of one call. */
export interface FetchJsonOptions {
  /** The timeout of the whole call, from connecting to the last byte. */
  readonly timeoutMs: number;
  /** The longest accepted body; a longer one is refused while it arrives. Default 512 KiB. */
  readonly maxBytes?: number;
  readonly method?: 'GET' | 'POST' | 'PATCH';
  readonly headers?: Readonly<Record<string, string>>;
  /** A form, or a text whose type `headers` names. */
  readonly body?: URLSearchParams | string;
  /** Whether it changes nothing at the server, so that one lost on a connection may be sent again. Default: a GET. */
  readonly isRepeatable?: boolean;
  /** Ends the call early. */
  readonly signal?: AbortSignal;
}

/** A call without a usable answer: refused, timed out, too large, compressed or cut off. */
export class FetchError extends Error {
  override readonly name = 'FetchError';
  /** Whether the server answered this call, with a body that is not usable. */
  readonly isAnswered: boolean;

  constructor(message: string, cause: unknown) {
    super(message, { cause });
    this.isAnswered = cause instanceof UnusableBody;
  }
}

/** A body that the server sent, and that is too large, compressed or not UTF-8. */
class UnusableBody extends Error {
  override readonly name = 'UnusableBody';
}

/** Fetches JSON over kept-alive connections. */
export interface JsonFetcher {
  /**
   * Fetches `url` within the bounds of `options`. A redirect is an answer; it is not followed and its body is not read,
   * since it could lead to a link-local address.
   *
   * @throws {FetchError} without an answer; any status is an answer.
   */
  readonly fetchJson: (url: string, options: FetchJsonOptions) => Promise<JsonAnswer>;
  /** Closes the connections: idle ones now, the others with their call. */
  readonly close: () => void;
}

const DEFAULT_MAX_BYTES = 512 * 1024;
const MAX_HEADER_BYTES = 16 * 1024;
/** Less than the 5 s after which most servers close an idle connection, so that a reused one is rarely closed. */
const IDLE_MS = 4_000;
const MAX_IDLE_SOCKETS = 32;

/**
 * Creates a fetcher without connections. It uses Node's own HTTP client: the global `fetch` refuses the ports that
 * browsers refuse, decompresses without a bound, and does not tell whether a connection was reused.
 *
 * @param openAs Default: a request of the gateway's own, which a proxy may lead.
 */
export function createJsonFetcher(openAs: typeof openRequest = openRequest): JsonFetcher {
  const options = { keepAlive: true, maxFreeSockets: MAX_IDLE_SOCKETS, timeout: IDLE_MS };
  const agents = [new http.Agent(options), new HttpsAgent(options)] as const;

  function open(url: URL, { method = 'GET', headers, body, signal }: FetchJsonOptions): ClientRequest {
    const text = body?.toString();
    const [plain, secure] = agents;
    const isSecure = url.protocol === 'https:';
    const request = openAs(url, {
      agent: isSecure ? secure : plain,
      method,
      maxHeaderSize: MAX_HEADER_BYTES,
      insecureHTTPParser: false,
      ...(signal !== undefined && { signal }),
      headers: {
        accept: 'application/json',
        ...(text !== undefined && {
          'content-type': 'application/x-www-form-urlencoded;charset=UTF-8',
          'content-length': Buffer.byteLength(text),
        }),
        ...headers,
      },
    });
    return request.end(text);
  }

  return {
    async fetchJson(url, options) {
      try {
        const target = new URL(url);
        const deadline = performance.now() + options.timeoutMs;
        const attempt = (): Promise<JsonAnswer> => receive(open(target, options), deadline, options);
        return await attempt().catch((error: unknown) => {
          // RFC 9110 §9.2.2: a request lost on a connection that the server was closing may be sent again.
          const { method = 'GET', isRepeatable = method === 'GET' } = options;
          if (error instanceof StaleConnection && isRepeatable) return attempt();
          throw error;
        });
      } catch (error) {
        throw new FetchError(`${withoutQuery(url)}: ${reasonOf(error)}`, error);
      }
    },
    close() {
      for (const agent of agents) {
        agent.maxFreeSockets = 0;
        for (const sockets of Object.values(agent.freeSockets)) for (const socket of sockets ?? []) socket.destroy();
      }
    },
  };
}

/** A reused connection broke before the first byte of the answer. */
class StaleConnection extends Error {
  override readonly name = 'StaleConnection';
}

/** Resolves with the whole answer or rejects. Either way it leaves no open `request`, whatever the server does. */
function receive(request: ClientRequest, deadline: number, options: FetchJsonOptions): Promise<JsonAnswer> {
  return new Promise((resolve, reject) => {
    let settled = false;
    let answered = false;
    const leftMs = Math.max(deadline - performance.now(), 0);
    const timer = setTimeout(() => fail(new Error(`timeout after ${options.timeoutMs} ms`)), leftMs);

    function settle(): boolean {
      if (settled) return false;
      settled = true;
      clearTimeout(timer);
      return true;
    }
    function fail(error: Error): void {
      if (!settle()) return;
      request.destroy();
      reject(request.reusedSocket && !answered && isBroken(error) ? new StaleConnection(codeOf(error)) : error);
    }

    // These listeners stay: a late error without a listener would end the process.
    request.on('error', fail);
    request.on('close', () => {
      if (!answered) fail(new Error('closed without an answer'));
    });
    request.on('response', (response) => {
      answered = true;
      response.on('error', fail);
      const succeed = (answer: JsonAnswer): void => {
        if (!settle()) return;
        resolve(answer);
        // An unread body would block its connection.
        if (!response.readableEnded) request.destroy();
      };
      readJsonAnswer(response, options.maxBytes ?? DEFAULT_MAX_BYTES).then(succeed, fail);
    });
  });
}

function isBroken(error: Error): boolean {
  return ['ECONNRESET', 'EPIPE'].includes(codeOf(error));
}

/** The system's error code, if there is one: the shortest description. */
function codeOf(error: Error): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : error.message;
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? codeOf(error) : String(error);
}

/** The answer of a server. Only the length of the text bounds the depth of its `body`. */
export interface JsonAnswer extends Omit<ServerAnswer, 'maxAgeMs'> {
  /** `Cache-Control`, unparsed. */
  readonly cacheControl: string | undefined;
  /** `Retry-After`, unparsed. */
  readonly retryAfter: string | undefined;
}

/**
 * Reads `response` to its end, except the body of a redirect.
 *
 * @throws {Error} for a body of more than `maxBytes`, as soon as that is known; a compressed one, whose real size is
 *   unknown; one that is not UTF-8; one that was cut off.
 */
async function readJsonAnswer(response: IncomingMessage, maxBytes: number): Promise<JsonAnswer> {
  const { statusCode: status = 0, headers } = response;
  const text = status >= 300 && status < 400 ? '' : await readText(response, maxBytes);
  return {
    status,
    mediaType: headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase() ?? '',
    text,
    body: parsedJson(text),
    cacheControl: headers['cache-control'],
    retryAfter: headers['retry-after'],
  };
}

function readText(response: IncomingMessage, maxBytes: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const gatherer = new Gatherer(maxBytes);
    response.on('error', reject);
    response.on('close', () => reject(new Error('the answer was cut off')));
    const { 'content-encoding': encoding = 'identity', 'content-length': length = '0' } = response.headers;
    if (encoding.toLowerCase() !== 'identity') {
      reject(new UnusableBody('answered with a content-encoding that was not requested'));
      return;
    }
    const tooMuch = (): void => reject(new UnusableBody(`answered with more than ${maxBytes} bytes`));
    if (Number(length) > maxBytes) {
      tooMuch();
      return;
    }
    response.on('data', (chunk: Buffer) => {
      if (gatherer.length + chunk.length > maxBytes) tooMuch();
      else gatherer.push(chunk);
    });
    response.on('end', () => {
      try {
        resolve(new TextDecoder('utf-8', { fatal: true }).decode(gatherer.take()));
      } catch {
        reject(new UnusableBody('answered with bytes that are not UTF-8'));
      }
    });
  });
}
