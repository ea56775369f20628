/**
 * Asks an MCP server by the official client. Commands load it, and `serve` on a route whose policy has `lock`.
 *
 * @module
 */

import { Client, type FetchLike, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { reasonOf } from '../../lib/wording.ts';
import { describeValue } from '../../lib/json/describe-value.ts';
import { ownMember } from '../../lib/json/own-member.ts';
import { definitionOf, definitionsIn, MAX_DEFINITIONS } from '../guarded-message.ts';
import { type KnownList, listedKinds, lockedLists } from '../../model/mcp.ts';
import type { DescribedDefinition } from '../../model/lock.ts';

/** The server did not answer as an MCP server does; the message is for the operator. */
export class McpServerFault extends Error {
  override readonly name = 'McpServerFault';
  /** `unauthorized`: it demands credentials. `unreachable`: there is no answer. `other`: it speaks something else. */
  readonly kind: 'unauthorized' | 'unreachable' | 'other';

  constructor(kind: McpServerFault['kind'], message: string, cause?: unknown) {
    super(message, { cause });
    this.kind = kind;
  }
}

interface AskOptions {
  /** For all of it, from connecting to the last answer. */
  readonly timeoutMs: number;
  /** For all answers together. */
  readonly maxBytes: number;
  /** Ends it early. */
  readonly signal?: AbortSignal | undefined;
  /** Added to each request, such as `Authorization`; default: none, so that the server sees no caller. */
  readonly headers?: Headers | undefined;
}

/** The limits that fit every server that is in order. */
const askLimits: AskOptions = { timeoutMs: 15_000, maxBytes: 16 * 1024 * 1024 };

/** Servers page as they like: this many pages are more than any has. */
const MAX_PAGES = 100;

interface ConnectedServer {
  readonly client: Client;
  /** The agreed revision of the protocol, such as `2026-07-28`. */
  readonly revision: string;
  /** Ends each request once a limit is exceeded. */
  readonly signal: AbortSignal;
}

/**
 * Connects, agrees on a revision, and asks. It follows no redirect, so that no other server gets the headers.
 *
 * @throws {McpServerFault}
 */
async function askServer<Answer>(
  url: string,
  { timeoutMs, maxBytes, signal: given, headers = new Headers() }: AskOptions,
  ask: (server: ConnectedServer) => Promise<Answer>,
): Promise<Answer> {
  const stop = new AbortController();
  const observed: Observed = { status: undefined, location: undefined };
  const client = new Client(
    { name: 'sallyport', version: '1.0.0' },
    // `auto` asks for the stateless revision first, then for one with sessions.
    // The probe has a timeout of its own, which ignores the signal and would keep the process alive.
    { versionNegotiation: { mode: 'auto', probe: { timeoutMs, maxRetries: 0 } }, listMaxPages: MAX_PAGES },
  );
  const transport = new StreamableHTTPClientTransport(new URL(url), {
    fetch: boundedFetch(stop, maxBytes, observed),
    requestInit: { headers },
    reconnectionOptions: {
      initialReconnectionDelay: 1,
      maxReconnectionDelay: 1,
      reconnectionDelayGrowFactor: 1,
      maxRetries: 0,
    },
  });
  const stopped = Promise.withResolvers<never>();
  const end = (): void => stop.abort(given?.reason);
  given?.addEventListener('abort', end);
  stop.signal.addEventListener('abort', () => stopped.reject(stop.signal.reason));
  const timer = setTimeout(() => stop.abort(new Error(`no answer within ${timeoutMs / 1000} s`)), timeoutMs);
  try {
    return await Promise.race([connectAndAsk(), stopped.promise]);
  } catch (error) {
    throw faultOf(error, observed, stop.signal, headers);
  } finally {
    clearTimeout(timer);
    given?.removeEventListener('abort', end);
    stopped.promise.catch(() => {});
    await client.close().catch(() => {});
    stop.abort();
  }

  async function connectAndAsk(): Promise<Answer> {
    const { signal } = stop;
    await client.connect(transport, { signal });
    const answer = await ask({ client, revision: client.getNegotiatedProtocolVersion() ?? 'unknown', signal });
    // A server keeps a session until it times out, unless its client ends it.
    await transport.terminateSession().catch(() => {});
    return answer;
  }
}

function faultOf(error: unknown, { status, location }: Observed, stop: AbortSignal, headers: Headers): McpServerFault {
  if (error instanceof McpServerFault) return error;
  if (status === undefined)
    return new McpServerFault('unreachable', reasonOf(stop.aborted ? stop.reason : error), error);
  const answered = `answered ${status}`;
  if (status === 401 || status === 403) {
    const why =
      [...headers].length === 0 ? 'it demands credentials of its own' : 'it refuses the credentials that it got';
    return new McpServerFault('unauthorized', `${answered}: ${why}`, error);
  }
  if (location !== undefined) {
    return new McpServerFault('other', `${answered} with a redirect to ${describeValue(location)}`, error);
  }
  if (status >= 400) return new McpServerFault('other', `${answered}; many MCP servers listen at /mcp`, error);
  const why = stop.aborted ? `: ${reasonOf(stop.reason)}` : '';
  return new McpServerFault('other', `${answered}, but not as MCP over Streamable HTTP${why}`, error);
}

interface Observed {
  status: number | undefined;
  /** Where a redirect points; undefined: it was none. */
  location: string | undefined;
}

/**
 * `fetch` until `stop` is aborted. It aborts `stop` itself at a redirect, and once all answers together have more than
 * `maxBytes`.
 */
function boundedFetch(stop: AbortController, maxBytes: number, observed: Observed): FetchLike {
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

/** Takes a result as it is: a schema of the client could drop members, and a digest is over all of them. */
const asReceived = {
  '~standard': { version: 1, vendor: 'sallyport', validate: (value: unknown) => ({ value }) },
} as const;

/**
 * Lists the tools and prompts of an MCP server, from all pages, and its instructions. A definition that stands in two
 * places is returned twice.
 *
 * @throws {McpServerFault}
 */
export async function listDefinitions(
  url: string,
  options: Partial<AskOptions> = {},
): Promise<readonly DescribedDefinition[]> {
  return askServer(url, { ...askLimits, ...options }, async ({ client, signal }) => {
    const found: DescribedDefinition[] = [];
    const instructions = client.getInstructions();
    if (instructions !== undefined)
      found.push({ ...definitionOf('instructions', '', instructions), description: instructions });
    const capabilities = client.getServerCapabilities() ?? {};
    for (const { kind, ...list } of lockedLists) {
      if (capabilities[listedKinds[kind].key] === undefined) continue;
      for await (const entries of pagesOf(client, list, signal)) {
        if (found.length + entries.length > MAX_DEFINITIONS)
          throw new McpServerFault('other', `answered with more than ${MAX_DEFINITIONS} definitions`);
        for (const [index, definition] of definitionsIn(kind, entries).entries()) {
          const description = ownMember(entries[index], 'description');
          if (definition !== undefined)
            found.push({ ...definition, description: typeof description === 'string' ? description : '' });
        }
      }
    }
    return found;
  });
}

async function* pagesOf(
  client: Client,
  { method, member }: Pick<KnownList, 'method' | 'member'>,
  signal: AbortSignal,
): AsyncGenerator<readonly unknown[]> {
  let cursor: unknown;
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const params = cursor === undefined ? {} : { cursor };
    const result = await client.request({ method, params }, asReceived, { signal });
    const entries = ownMember(result, member);
    if (!Array.isArray(entries)) throw new McpServerFault('other', `answered ${method} without a list of ${member}`);
    yield entries;
    cursor = ownMember(result, 'nextCursor');
    if (typeof cursor !== 'string') return;
  }
  throw new McpServerFault('other', `answered ${method} with more than ${MAX_PAGES} pages`);
}

/** A tool as its server describes it. The server chose the name, which may hold any character. */
export interface Tool {
  readonly name: string;
  /** Whether the server says that the tool changes nothing: `annotations.readOnlyHint`. */
  readonly readOnly: boolean;
}

/** The description that an MCP server gives of itself. */
export interface McpServer {
  /** The agreed revision of the protocol, such as `2026-07-28`. */
  readonly revision: string;
  readonly tools: readonly Tool[];
}

/**
 * Lists the tools of an MCP server, and calls none.
 *
 * @throws {McpServerFault}
 */
export async function listTools(url: string, options: AskOptions = askLimits): Promise<McpServer> {
  return askServer(url, options, async ({ client, revision, signal }) => {
    // A server without the capability has no tools, and may refuse the question.
    const { tools } =
      client.getServerCapabilities()?.tools === undefined
        ? { tools: [] }
        : await client.listTools(undefined, { signal });
    return {
      revision,
      tools: tools.map(({ name, annotations }) => ({ name, readOnly: annotations?.readOnlyHint === true })),
    };
  });
}
