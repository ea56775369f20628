import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { openRequest } from '../../ports/own-requests.ts';

interface OwnRequestInit extends RequestInit {
  /** The authorities in place of those of the system, as PEM. */
  readonly ca?: string | undefined;
}

const MAX_HEADER_BYTES = 16 * 1024;

/**
 * `fetch` by {@link openRequest}. It follows no redirect: one is an answer, or an error with `redirect: 'error'`.
 *
 * @throws {TypeError} without an answer; its cause says why.
 */
export async function ownFetch(input: string | URL | Request, init: OwnRequestInit = {}): Promise<Response> {
  const { ca, ...rest } = init;
  const request = new Request(input, rest);
  const { url, method, signal, redirect, headers } = request;
  const body = request.body === null ? undefined : Buffer.from(await request.arrayBuffer());
  try {
    const sent = openRequest(new URL(url), {
      method,
      signal,
      agent: false,
      maxHeaderSize: MAX_HEADER_BYTES,
      // RFC 9110 §12.5.3: without the field, a server may choose any coding.
      headers: { accept: '*/*', 'accept-encoding': 'identity', ...Object.fromEntries(headers) },
      ...(ca !== undefined && { ca }),
    });
    // A failure after the answer has begun ends its body too.
    sent.on('error', () => {});
    const [answer] = (await once(sent.end(body), 'response')) as [IncomingMessage];
    if (redirect === 'error' && isRedirect(answer)) {
      sent.destroy();
      throw new Error('unexpected redirect');
    }
    return responseOf(answer, method);
  } catch (cause) {
    signal.throwIfAborted();
    throw new TypeError('fetch failed', { cause });
  }
}

function isRedirect({ statusCode = 0 }: IncomingMessage): boolean {
  return statusCode >= 300 && statusCode < 400 && statusCode !== 304;
}

/** Statuses whose answers have no body, RFC 9110 §6.4.1. */
const bodiless: ReadonlySet<number> = new Set([204, 205, 304]);

function responseOf(answer: IncomingMessage, method: string): Response {
  const { statusCode = 0, rawHeaders } = answer;
  const headers = new Headers();
  for (let i = 0; i < rawHeaders.length; i += 2) headers.append(rawHeaders[i] ?? '', rawHeaders[i + 1] ?? '');
  const hasBody = method !== 'HEAD' && !bodiless.has(statusCode);
  if (!hasBody) answer.resume();
  const body = hasBody ? (Readable.toWeb(answer) as ReadableStream<Uint8Array>) : null;
  return new Response(body, { status: statusCode, headers });
}
