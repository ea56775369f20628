import { Client, StreamableHTTPClientTransport, UnauthorizedError } from '@modelcontextprotocol/client';
import type { AuthProvider, CallToolResult, Tool, VersionNegotiationMode } from '@modelcontextprotocol/client';

import type { WalkingClient } from './oauth-client.ts';
import { createRecorder, type Recorder } from './recorder.ts';

/** An AI agent: the official MCP client, its OAuth state, and a record of its HTTP exchanges. */
export interface Agent {
  readonly oauth: WalkingClient;
  readonly recorder: Recorder;
  /** The protocol revision of its connection. */
  readonly revision: string | undefined;
  /** Connects; false if the user must authorize first. */
  connect(mode?: VersionNegotiationMode): Promise<boolean>;
  listTools(): Promise<readonly Tool[]>;
  /** Calls a tool; undefined if the user must authorize first. */
  call(name: string, arguments_?: Record<string, unknown>): Promise<CallToolResult | undefined>;
  /** Opens a stream of notifications; `closed` resolves when it ends. */
  listen(): Promise<{ readonly closed: Promise<unknown> }>;
  /** Redeems the code of a callback. */
  redeem(callback: URL): Promise<void>;
  close(): Promise<void>;
}

/**
 * Makes an agent that talks to the MCP server at this URL.
 *
 * @param authProvider Presents its tokens; default: `oauth`, which lets its user sign in.
 */
export function createAgent(
  mcpUrl: URL,
  oauth: WalkingClient,
  authProvider: AuthProvider | WalkingClient = oauth,
): Agent {
  const recorder = createRecorder();
  let transport = newTransport();
  let client = newClient('auto');

  function newTransport(): StreamableHTTPClientTransport {
    return new StreamableHTTPClientTransport(mcpUrl, { authProvider, fetch: recorder.fetch });
  }

  return {
    oauth,
    recorder,
    get revision() {
      return client.getNegotiatedProtocolVersion();
    },
    async connect(mode = 'auto') {
      await client.close();
      // A refused transport cannot be started again. A new one gets the tokens from the provider.
      transport = newTransport();
      client = newClient(mode);
      return (await unlessUnauthorized(client.connect(transport).then(() => true))) ?? false;
    },
    listTools: async () => (await client.listTools()).tools,
    call: (name, arguments_ = {}) => unlessUnauthorized(client.callTool({ name, arguments: arguments_ })),
    listen: () => client.listen({ toolsListChanged: true }),
    redeem: (callback) => transport.finishAuth(callback.searchParams),
    close: () => client.close(),
  };
}

function newClient(mode: VersionNegotiationMode): Client {
  return new Client({ name: 'demo-walk', version: '1.0.0' }, { versionNegotiation: { mode } });
}

async function unlessUnauthorized<Result>(result: Promise<Result>): Promise<Result | undefined> {
  try {
    return await result;
  } catch (error) {
    if (UnauthorizedError.isInstance(error)) return undefined;
    throw error;
  }
}
