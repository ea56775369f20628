/**
 * Asks an MCP server by the official client. Commands load it, and `serve` on a route whose policy has `lock`.
 *
 * @module
 */

import {
  Client,
  type ClientCapabilities,
  type FetchLike,
  ProtocolError,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client';
import { reasonOf } from '../../core/lib/wording.ts';
import { describeValue } from '../../core/lib/json/describe-value.ts';
import { isObject, ownMember } from '../../core/lib/json/own-member.ts';
import { parsedJson } from '../../core/lib/json/parsed.ts';
import { definitionOf, definitionsIn, MAX_DEFINITIONS } from '../guarded-message.ts';
import { type KnownList, listedKinds, lockedLists } from '../../core/model/mcp.ts';
import { definitionKey, type DescribedDefinition } from '../definitions.ts';
import { type NamedCall, namedCallIn } from './wrapper.ts';

/** The server did not answer as an MCP server does; the message is for the operator. */
export class McpServerFault extends Error {
  override readonly name = 'McpServerFault';
  /**
   * `unauthorized`: it demands credentials. `host`: it does not serve the host of its URL. `unreachable`: there is no
   * answer. `other`: it speaks something else.
   */
  readonly kind: 'unauthorized' | 'host' | 'unreachable' | 'other';

  constructor(kind: McpServerFault['kind'], message: string, cause?: unknown) {
    super(message, { cause });
    this.kind = kind;
  }
}

/** The remedy for a server that guards against DNS rebinding, by the names of the setting in the official SDKs. */
export function remedyForHost(url: string): string {
  return `add ${new URL(url).host} to the allowed hosts of the server (allowed_hosts, allowedHosts)`;
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

/** What clients in use declare. Servers show some tools only to clients that can answer their requests. */
const clientCapabilities: ClientCapabilities = {
  roots: { listChanged: true },
  sampling: {},
  elicitation: { form: {}, url: {} },
};

interface BothAnswers<Answer> {
  /** To a client with {@link clientCapabilities}. */
  readonly capable: Answer;
  /** To a client without any; undefined: the server refuses such a client. */
  readonly plain: Answer | undefined;
}

/**
 * Asks as a client with capabilities, then as one without.
 *
 * @throws {McpServerFault} if the first gets no answer.
 */
async function askTwice<Answer>(
  url: string,
  options: AskOptions,
  ask: (server: ConnectedServer) => Promise<Answer>,
): Promise<BothAnswers<Answer>> {
  const capable = await askServer(url, options, ask, clientCapabilities);
  try {
    return { capable, plain: await askServer(url, options, ask, {}) };
  } catch (error) {
    if (error instanceof McpServerFault) return { capable, plain: undefined };
    throw error;
  }
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
  capabilities: ClientCapabilities,
): Promise<Answer> {
  const stop = new AbortController();
  const observed: Observed = { status: undefined, location: undefined, words: undefined };
  const client = new Client(
    { name: 'sallyport', version: '1.0.0' },
    // `auto` asks for the stateless revision first, then for one with sessions.
    // The probe has a timeout of its own, which ignores the signal and would keep the process alive.
    {
      capabilities,
      versionNegotiation: { mode: 'auto', probe: { timeoutMs, maxRetries: 0 } },
      listMaxPages: MAX_PAGES,
    },
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

function faultOf(
  error: unknown,
  { status, location, words }: Observed,
  stop: AbortSignal,
  headers: Headers,
): McpServerFault {
  if (error instanceof McpServerFault) return error;
  if (status === undefined)
    return new McpServerFault('unreachable', reasonOf(stop.aborted ? stop.reason : error), error);
  const said = (text: string): string => describeValue(withoutValues(text, headers));
  const answered = `answered ${status}${words === undefined ? '' : `, ${said(words)}`}`;
  // A server that guards against DNS rebinding refuses a host that it does not know, for every client.
  if (status === 421 || (status === 403 && /\b(?:host|origin|rebinding)\b/i.test(words ?? ''))) {
    return new McpServerFault('host', `${answered}: it checks Host, and does not serve this one`, error);
  }
  if (status === 401 || status === 403) {
    const why =
      [...headers].length === 0 ? 'it demands credentials of its own' : 'it refuses the credentials that it got';
    return new McpServerFault('unauthorized', `${answered}: ${why}`, error);
  }
  if (location !== undefined) {
    return new McpServerFault('other', `${answered} with a redirect to ${said(location)}`, error);
  }
  if (status >= 400) return new McpServerFault('other', `${answered}; many MCP servers listen at /mcp`, error);
  if (error instanceof ProtocolError) {
    const refusal = `the MCP error ${error.code}, ${said(error.message)}`;
    return new McpServerFault('other', `answered ${status} with ${refusal}`, error);
  }
  const why = stop.aborted ? `: ${reasonOf(stop.reason)}` : '';
  return new McpServerFault('other', `${answered}, but not as MCP over Streamable HTTP${why}`, error);
}

/** A text of a server, without the header values that it got: they are secrets, and some servers repeat them. */
function withoutValues(text: string, headers: Headers): string {
  const values = [...headers].flatMap(([, value]) => [value, value.replace(/^\S+ +/, '')]);
  return values.reduce((rest, value) => (value === '' ? rest : rest.replaceAll(value, '…')), text);
}

interface Observed {
  status: number | undefined;
  /** Where a redirect points; undefined: it was none. */
  location: string | undefined;
  /** What an answer that is an error says of itself. */
  words: string | undefined;
}

/** At most this much of an error's body is read. */
const MAX_ERROR_BYTES = 4096;

/** The words of an error for people: a member of a JSON body, or a plain text in one line; undefined for none. */
async function wordsOf(response: Response): Promise<string | undefined> {
  let text = '';
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk as Uint8Array, { stream: true });
    if (text.length > MAX_ERROR_BYTES) break;
  }
  const found = errorWords(parsedJson(text));
  if (found !== undefined) return found;
  const isPlain = /^text\/plain\b/i.test(response.headers.get('content-type') ?? '');
  const line = text.trim().split('\n', 1)[0]?.trim() ?? '';
  return isPlain && line !== '' ? line : undefined;
}

/** JSON-RPC, RFC 9457, RFC 6749 §5.2 and what frameworks write. */
function errorWords(body: unknown): string | undefined {
  if (typeof body === 'string' && body !== '') return body;
  const { error, message, detail, error_description: description, title } = isObject(body) ? body : {};
  const inner = isObject(error) ? error['message'] : undefined;
  const texts = [inner, description, message, detail, title, error];
  return texts.find((each): each is string => typeof each === 'string' && each !== '');
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
    if (init?.method === 'POST' && response.status >= 400) {
      observed.words = await wordsOf(response.clone()).catch(() => undefined);
    }
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
  const { capable, plain } = await askTwice(url, { ...askLimits, ...options }, async ({ client, signal }) => {
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
  if (plain === undefined) return capable;
  const shown = new Set(plain.map(definitionKey));
  const known = new Set(capable.map(definitionKey));
  return [
    ...Array.from(capable, (each) =>
      shown.has(definitionKey(each)) ? each : { ...each, needsCapabilities: true as const },
    ),
    ...plain.filter((each) => !known.has(definitionKey(each))),
  ];
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
  /** Where its arguments name another tool that it calls; undefined: it is not recognized as such a tool. */
  readonly inner?: NamedCall | undefined;
}

/** The description that an MCP server gives of itself. */
export interface McpServer {
  /** The agreed revision of the protocol, such as `2026-07-28`. */
  readonly revision: string;
  /** Those that a client with the capabilities of clients in use gets, and those that one without gets. */
  readonly tools: readonly Tool[];
  /** The names of tools that only a client with capabilities gets. */
  readonly capableOnly: readonly string[];
  /** What it has besides tools. */
  readonly others: readonly ('resources' | 'prompts' | 'completions')[];
}

/**
 * Lists the tools of an MCP server, and calls none.
 *
 * @throws {McpServerFault}
 */
export async function listTools(url: string, options: Partial<AskOptions> = {}): Promise<McpServer> {
  const { capable, plain = capable } = await askTwice(
    url,
    { ...askLimits, ...options },
    async ({ client, revision, signal }) => {
      // A server without the capability has no tools, and may refuse the question.
      const capabilities = client.getServerCapabilities() ?? {};
      const { tools } =
        capabilities.tools === undefined ? { tools: [] } : await client.listTools(undefined, { signal });
      return {
        revision,
        tools: tools.map(({ name, annotations, inputSchema }) => {
          return { name, readOnly: annotations?.readOnlyHint === true, inner: namedCallIn(inputSchema) };
        }),
        others: (['resources', 'prompts', 'completions'] as const).filter((each) => capabilities[each] !== undefined),
      };
    },
  );
  const shown = new Set(plain.tools.map(({ name }) => name));
  const known = new Set(capable.tools.map(({ name }) => name));
  return {
    ...capable,
    tools: [...capable.tools, ...plain.tools.filter(({ name }) => !known.has(name))],
    capableOnly: [...known].filter((name) => !shown.has(name)),
  };
}
