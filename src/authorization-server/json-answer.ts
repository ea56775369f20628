import type { IncomingMessage } from 'node:http';

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
export async function readJsonAnswer(response: IncomingMessage, maxBytes: number): Promise<JsonAnswer> {
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
