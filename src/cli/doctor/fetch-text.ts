/** The answer of a server. */
export interface TextAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

const TIMEOUT_MS = 5000;
const MAX_BYTES = 256 * 1024;

/**
 * Requests `url` without credentials, and follows no redirect.
 *
 * @throws {Error} if there is no answer in time, or one of more than 256 KiB. Its cause has the code of the system.
 */
export async function fetchText(url: string, method: 'GET' | 'HEAD' = 'GET'): Promise<TextAnswer> {
  const response = await fetch(url, { method, redirect: 'manual', signal: AbortSignal.timeout(TIMEOUT_MS) });
  const { status, headers } = response;
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > MAX_BYTES) throw new Error(`answered with more than ${MAX_BYTES} bytes`);
    chunks.push(chunk);
  }
  return { status, headers, text: Buffer.concat(chunks).toString() };
}
