import type { ClientRequest, IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { http } from '../http/node-http.ts';
import { withoutQuery } from '../http/without-query.ts';

/** The bounds of one call. */
export interface FetchJsonOptions {
  /** For the whole call, from connecting to the last byte. */
  readonly timeoutMs: number;
  /** Refuses longer bodies while they arrive, so that an endless one costs no more. Default 512 KiB. */
  readonly maxBytes?: number;
  readonly method?: 'GET' | 'POST';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: URLSearchParams;
}

/** A call that brought no answer: refused, timed out, too large, compressed, cut off. */
export class FetchError extends Error {
  override readonly name = 'FetchError';
}

/** Asks servers for JSON, over connections that it keeps. */
export interface JsonFetcher {
  /**
   * Asks `url`, within bounds. A redirect is an answer that is not followed, its body unread: a server that could send
   * us elsewhere could send us to a link-local address.
   *
   * @throws {FetchError} when there is no answer; any status is an answer.
   */
  readonly fetchJson: (url: string, options: FetchJsonOptions) => Promise<JsonAnswer>;
  /** Ends the connections: the idle ones now, the others with their call. */
  readonly close: () => void;
}

const DEFAULT_MAX_BYTES = 512 * 1024;
const MAX_HEADER_BYTES = 16 * 1024;
/** Shorter than the 5 s after which most servers close an idle connection: what we write to is hardly ever closed. */
const IDLE_MS = 4_000;
const MAX_IDLE_SOCKETS = 32;

/**
 * Creates a fetcher without connections. Node's own HTTP client, since the global `fetch` refuses the ports that
 * browsers do, decompresses without a bound, and cannot say when a connection is given up.
 */
export function createJsonFetcher(): JsonFetcher {
  const options = { keepAlive: true, maxFreeSockets: MAX_IDLE_SOCKETS, timeout: IDLE_MS };
  const agents = [new http.Agent(options), new HttpsAgent(options)] as const;

  function open(url: URL, { method = 'GET', headers, body }: FetchJsonOptions): ClientRequest {
    const form = body?.toString();
    const [plain, secure] = agents;
    const isSecure = url.protocol === 'https:';
    const request = (isSecure ? httpsRequest : http.request)(url, {
      agent: isSecure ? secure : plain,
      method,
      maxHeaderSize: MAX_HEADER_BYTES,
      insecureHTTPParser: false,
      headers: {
        accept: 'application/json',
        ...(form !== undefined && {
          'content-type': 'application/x-www-form-urlencoded;charset=UTF-8',
          'content-length': Buffer.byteLength(form),
        }),
        ...headers,
      },
    });
    return request.end(form);
  }

  return {
    async fetchJson(url, options) {
      try {
        const target = new URL(url);
        const deadline = performance.now() + options.timeoutMs;
        const attempt = (): Promise<JsonAnswer> => receive(open(target, options), deadline, options);
        return await attempt().catch((error: unknown) => {
          // RFC 9110 §9.2.2: what was lost on a connection that the server was just closing may be sent again.
          if (error instanceof StaleConnection && options.method !== 'POST') return attempt();
          throw error;
        });
      } catch (error) {
        throw new FetchError(`${withoutQuery(url)}: ${reasonOf(error)}`, { cause: error });
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

/** A connection that was kept broke before a byte of the answer. */
class StaleConnection extends Error {
  override readonly name = 'StaleConnection';
}

/** The whole answer, or why there is none; after that nothing of `request` is left, whatever the server does. */
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

    // These listeners stay: an error that comes late has one too, or it would end the process.
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
        // What was not read to its end keeps its connection from any other use.
        if (!response.readableEnded) request.destroy();
      };
      readJsonAnswer(response, options.maxBytes ?? DEFAULT_MAX_BYTES).then(succeed, fail);
    });
  });
}

function isBroken(error: Error): boolean {
  return ['ECONNRESET', 'EPIPE'].includes(codeOf(error));
}

/** The system's code where there is one: it says what happened in one word. */
function codeOf(error: Error): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : error.message;
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? codeOf(error) : String(error);
}

/** What a server answered: its status and, where the body was JSON, the value. */
export interface JsonAnswer {
  readonly status: number;
  /** `Content-Type` in lower case without parameters; `''` without one. */
  readonly mediaType: string;
  readonly text: string;
  /** The parsed text; undefined where it is not JSON. Its depth is bounded by its length alone. */
  readonly body: unknown;
  /** `Cache-Control` as it came. */
  readonly cacheControl: string | undefined;
  /** `Retry-After` as it came. */
  readonly retryAfter: string | undefined;
}

/**
 * Reads `response` to its end, but for a redirect, of which the body is left unread.
 *
 * @throws {Error} for a body of more than `maxBytes`, as soon as that is known; a compressed one, since it would have to
 *   be unpacked to know how much it is; one that is not UTF-8, and one that was cut off.
 */
async function readJsonAnswer(response: IncomingMessage, maxBytes: number): Promise<JsonAnswer> {
  const { statusCode: status = 0, headers } = response;
  const text = status >= 300 && status < 400 ? '' : await readText(response, maxBytes);
  return {
    status,
    mediaType: headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase() ?? '',
    text,
    body: parsed(text),
    cacheControl: headers['cache-control'],
    retryAfter: headers['retry-after'],
  };
}

function readText(response: IncomingMessage, maxBytes: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    response.on('error', reject);
    response.on('close', () => reject(new Error('the answer was cut off')));
    const { 'content-encoding': encoding = 'identity', 'content-length': length = '0' } = response.headers;
    if (encoding.toLowerCase() !== 'identity') {
      reject(new Error('answered with a content-encoding that was not asked for'));
      return;
    }
    const tooMuch = (): void => reject(new Error(`answered with more than ${maxBytes} bytes`));
    if (Number(length) > maxBytes) {
      tooMuch();
      return;
    }
    response.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > maxBytes) tooMuch();
      else chunks.push(chunk);
    });
    response.on('end', () => {
      try {
        resolve(new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks)));
      } catch {
        reject(new Error('answered with bytes that are not UTF-8'));
      }
    });
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
