/** What a server answered: its status and, where the body was JSON, the value. */
export interface JsonAnswer {
  readonly status: number;
  /** `Content-Type` in lower case without parameters; `''` without one. */
  readonly mediaType: string;
  readonly text: string;
  /** The parsed text; undefined where it is not JSON. */
  readonly body: unknown;
}

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

/** A call that brought no answer: refused, timed out, redirected, too large, cut off. */
export class FetchError extends Error {
  override readonly name = 'FetchError';
}

/**
 * Asks `url` for JSON, within bounds, and without following redirects: a server that could send us elsewhere could
 * send us to a link-local address.
 *
 * @throws {FetchError} when there is no answer; any status is an answer.
 */
export async function fetchJson(url: string, options: FetchJsonOptions): Promise<JsonAnswer> {
  const maxBytes = options.maxBytes ?? 512 * 1024;
  try {
    const response = await fetch(url, {
      method: options.method ?? 'GET',
      headers: { accept: 'application/json', ...options.headers },
      ...(options.body !== undefined && { body: options.body }),
      redirect: 'manual',
      signal: AbortSignal.timeout(options.timeoutMs),
    });
    if (response.status >= 300 && response.status < 400) {
      await response.body?.cancel();
      throw new FetchError(`${url} answered with a redirect (${response.status}), which is not followed`);
    }
    const mediaType = (response.headers.get('content-type') ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
    const text = await boundedText(response, maxBytes, url);
    return { status: response.status, mediaType, text, body: parsed(text) };
  } catch (error) {
    if (error instanceof FetchError) throw error;
    throw new FetchError(`${url}: ${reasonOf(error)}`, { cause: error });
  }
}

async function boundedText(response: Response, maxBytes: number, url: string): Promise<string> {
  if (response.body === null) return '';
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) throw new FetchError(`${url} answered with more than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks));
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** `fetch` says only "fetch failed"; what happened is its cause. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  if (cause instanceof Error) return 'code' in cause && typeof cause.code === 'string' ? cause.code : cause.message;
  return error.message;
}
