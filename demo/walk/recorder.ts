import type { FetchLike } from '@modelcontextprotocol/client';

/** One HTTP exchange, as on the wire. */
export interface Seen {
  readonly method: string;
  readonly url: URL;
  /** The body; undefined without one. */
  readonly sent: string | undefined;
  readonly status: number;
  readonly headers: Headers;
  /** The whole body; for an event stream, after its end. */
  readonly body: Promise<string>;
}

/** A `fetch` that records its exchanges. In an MCP client's transport, it shows what the client does not. */
export interface Recorder {
  readonly fetch: FetchLike;
  /** The exchanges since the last call, in order. */
  take(): readonly Seen[];
}

/** Makes a recorder with an empty memory. */
export function createRecorder(): Recorder {
  let seen: Seen[] = [];
  return {
    async fetch(url, init) {
      const response = await fetch(url, init);
      const copy = response.clone();
      seen.push({
        method: init?.method ?? 'GET',
        url: new URL(url),
        sent: sentBody(init?.body),
        status: response.status,
        headers: response.headers,
        // A client may leave a stream before its end. Then there is no body.
        body: copy.text().catch(() => ''),
      });
      return response;
    },
    take() {
      const taken = seen;
      seen = [];
      return taken;
    },
  };
}

/** The SDK sends strings to an MCP server and forms to an authorization server. */
function sentBody(body: RequestInit['body']): string | undefined {
  return typeof body === 'string' || body instanceof URLSearchParams ? body.toString() : undefined;
}
