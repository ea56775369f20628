import type { IncomingMessage, ServerResponse } from 'node:http';
import { lockFileText } from '../../src/capabilities/lock/lock-file.ts';
import { definitionOf } from '../../src/mcp/guarded-message.ts';
import type { DefinitionKind, DescribedDefinition } from '../../src/mcp/definitions.ts';
import { type McpWorld, request, startMcpWorld } from './mcp.ts';

/** A definition as a server writes it. */
type Written = Readonly<Record<string, unknown>> & { readonly name: string };

/** What the MCP server shows. A list of lists is shown in pages. */
export interface Shows {
  readonly tools?: readonly unknown[] | readonly (readonly unknown[])[];
  readonly prompts?: readonly unknown[];
  readonly instructions?: string | undefined;
}

/** A gateway with a lock, before an MCP server of 2025-11-25 that shows what the test says. */
export interface LockedWorld extends McpWorld {
  /** What the server shows from now on. */
  shows: Shows;
  /** What it shows to the gateway itself; undefined: the same. A number is the status with which it refuses. */
  showsGateway: Shows | number | undefined;
  /** How it answers, given the text of the message. Default: as JSON. */
  form: (response: ServerResponse, text: string) => void;
  /** How it answers a GET. Default: with 405. */
  stream: (response: ServerResponse) => void;
  /** How many times the gateway itself asked for the tools. */
  looks(): number;
  /** The result of a request; undefined for an error. */
  result(method: string, params?: object): Promise<Record<string, unknown> | undefined>;
  /** The names that a list shows. */
  names(member: 'tools' | 'prompts', params?: object): Promise<readonly unknown[]>;
  /** Calls a tool. `allowed`, or the reason of the refusal. */
  call(tool: string): Promise<string>;
  /** Waits until the gateway has compared for the first time. */
  compared(): Promise<void>;
}

/** As `application/json`. */
export function asJson(response: ServerResponse, text: string): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(text);
}

/** As one event of a stream. */
export function asEvents(response: ServerResponse, text: string): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' }).end(`event: message\ndata: ${text}\n\n`);
}

function refuseStream(response: ServerResponse): void {
  response.writeHead(405).end();
}

/** The lock file that approves what a server shows. */
export function lockOf({ tools = [], prompts = [], instructions }: Shows): string {
  const described = (kind: DefinitionKind, name: string, value: unknown): DescribedDefinition => ({
    ...definitionOf(kind, name, value),
    description: '',
  });
  return lockFileText('tools', 'x', [
    ...(instructions === undefined ? [] : [described('instructions', '', instructions)]),
    ...(tools.flat() as Written[]).map((each) => described('tool', each.name, each)),
    ...(prompts as Written[]).map((each) => described('prompt', each.name, each)),
  ]);
}

/** Starts it. `approved`: what the lock has; `shows`: what the server shows at first, by default the same. */
export async function startLockedWorld({
  approved,
  shows = approved,
  showsGateway,
  policy = 'lock: deny',
  lock = lockOf(approved),
  route = '',
  hold = (go) => go(),
}: {
  readonly approved: Shows;
  readonly shows?: Shows;
  readonly showsGateway?: Shows | number;
  readonly policy?: string;
  readonly lock?: string;
  readonly route?: string;
  /** Holds each answer to the gateway itself until `go` is called. */
  readonly hold?: (go: () => void) => void;
}): Promise<LockedWorld> {
  let looks = 0;
  const started: { world?: LockedWorld } = {};
  const state = { shows, showsGateway, form: asJson, stream: refuseStream };
  const base = await startMcpWorld({
    policy,
    lock,
    route,
    handle: (incoming, response, body) => serve(started.world ?? state, incoming, response, body),
  });

  function serve(now: typeof state, incoming: IncomingMessage, response: ServerResponse, body: string): void {
    if (incoming.method === 'GET') return now.stream(response);
    if (incoming.method !== 'POST') return void response.writeHead(200).end();
    const {
      id,
      method = '',
      params = {},
    } = JSON.parse(body) as {
      id?: number;
      method?: string;
      params?: { clientInfo?: { name: string }; cursor?: string };
    };
    const isGateway = params.clientInfo?.name === 'sallyport' || incoming.headers['mcp-session-id'] === 'of-gateway';
    if (isGateway && method === 'tools/list') looks += 1;
    if (isGateway && typeof now.showsGateway === 'number') return void response.writeHead(now.showsGateway).end();
    if (id === undefined) return void response.writeHead(202).end();
    const shown = isGateway && typeof now.showsGateway === 'object' ? now.showsGateway : now.shows;
    const result = resultOf(shown, method, Number(params.cursor ?? 0));
    const error = { code: -32601, message: 'Method not found' };
    if (method === 'initialize') response.setHeader('mcp-session-id', isGateway ? 'of-gateway' : 'of-client');
    const text = JSON.stringify({ jsonrpc: '2.0', id, ...(result === undefined ? { error } : { result }) });
    if (isGateway || method === 'server/discover') hold(() => asJson(response, text));
    else now.form(response, text);
  }

  const world: LockedWorld = Object.assign(base, {
    ...state,
    looks: () => looks,
    async result(method: string, params = {}) {
      const response = await world.send(request(method, params));
      const text = (await response.text()).replace(/^event: message\ndata: /, '');
      return (JSON.parse(text) as { result?: Record<string, unknown> }).result;
    },
    async names(member: 'tools' | 'prompts', params = {}) {
      const result = await world.result(`${member}/list`, params);
      if (result === undefined) throw new Error(`${member}/list has no result`);
      return (result[member] as Written[]).map(({ name }) => name);
    },
    async call(tool: string) {
      const response = await world.send(request('tools/call', { name: tool, arguments: {} }));
      const { error } = (await response.json()) as { error?: { data: { reason: string } } };
      return error?.data.reason ?? 'allowed';
    },
    async compared() {
      await world.gateway.line({ msg: 'definitions are compared' });
    },
  });
  started.world = world;
  return world;
}

function resultOf({ tools = [], prompts = [], instructions }: Shows, method: string, page: number): unknown {
  switch (method) {
    case 'initialize': {
      const capabilities = { tools: {}, prompts: {} };
      return {
        protocolVersion: '2025-11-25',
        capabilities,
        serverInfo: { name: 'x', version: '1' },
        ...(instructions !== undefined && { instructions }),
      };
    }
    case 'tools/list': {
      const pages = Array.isArray(tools[0]) ? (tools as readonly (readonly unknown[])[]) : [tools];
      return { tools: pages[page], ...(page + 1 < pages.length && { nextCursor: String(page + 1) }) };
    }
    case 'prompts/list':
      return { prompts };
    case 'tools/call':
      return { content: [] };
    case 'prompts/get':
      return { messages: [] };
    default:
      return undefined;
  }
}
