import type { FetchLike } from '@modelcontextprotocol/client';

/** What the last answer to a POST was, for messages. */
export interface Observed {
  status: number | undefined;
  /** Where a redirect points; undefined: it was none. */
  location: string | undefined;
}

/**
 * `fetch` until `stop` is aborted. It aborts `stop` itself at a redirect, and once all answers together have more than
 * `maxBytes`.
 */
export function boundedFetch(stop: AbortController, maxBytes: number, observed: Observed): FetchLike {
  let bytes = 0;

  function count(): TransformStream<Uint8Array, Uint8Array> {
    return new TransformStream({
      transform(chunk, controller) {
        bytes += chunk.byteLength;
        if (bytes <= maxBytes) controller.enqueue(chunk);
        else stop.abort(new Error(`answered with more than ${maxBytes} bytes`));
      },
    });
  }

  return async (url, init) => {
    const { signal } = init ?? {};
    const response = await fetch(url, {
      ...init,
      redirect: 'manual',
      signal: signal === undefined || signal === null ? stop.signal : AbortSignal.any([signal, stop.signal]),
    });
    if (init?.method === 'POST') {
      observed.status = response.status;
      const isRedirect = response.status >= 300 && response.status < 400;
      observed.location = isRedirect ? (response.headers.get('location') ?? '') : undefined;
    }
    // It could lead to a server that the operator did not name, and the client would follow it.
    if (observed.location !== undefined) stop.abort(new Error('answered with a redirect'));
    if (response.body === null) return response;
    const { status, statusText, headers } = response;
    return new Response(response.body.pipeThrough(count()), { status, statusText, headers });
  };
}
