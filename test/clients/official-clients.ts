import {
  Client,
  StreamableHTTPClientTransport,
  type FetchLike,
  type VersionNegotiationMode,
} from '@modelcontextprotocol/client';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ToolListChangedNotificationSchema as toolsChanged } from '@modelcontextprotocol/sdk/types.js';

import type { WalkingClient } from '../../demo/walk/oauth-client.ts';

/** One way to use an official client. */
export interface OfficialClient {
  readonly name: string;
  /** What it must agree on with the server behind us. */
  readonly revision: string;
  /** What it would send if it took the server for one of the other era. */
  readonly methodOfTheOtherEra: string;
  /** What it asks for when it holds `read write` and is challenged for `read payments`. */
  readonly stepUpScope: string;
  /** How a call ends that meets the challenge which the client has just authorized for; `undefined`: it asks its user. */
  readonly atTheSameChallenge: string;
  open(mcpUrl: URL, oauth: WalkingClient, fetch: FetchLike, session?: string): Connection;
}

/** What the tests use of both SDKs. */
export interface Connection {
  connect(): Promise<void>;
  revision(): string | undefined;
  session(): string | undefined;
  listTools(): Promise<{ readonly tools: readonly { readonly name: string }[] }>;
  callTool(call: { name: string; arguments: Record<string, unknown> }): Promise<object>;
  /** Calls `heard` when the server says that its tools changed. */
  onToolsChanged(heard: () => void): void;
  /** Finishes the authorization with what came back to the client's own page. */
  redeem(callback: URL): Promise<void>;
  /** Ends the session. */
  terminate(): Promise<void>;
  close(): Promise<void>;
}

const whoAmI = { name: 'sallyport-test', version: '1.0.0' };
/** The clients' own delays are for people. */
const reconnectionOptions = {
  initialReconnectionDelay: 20,
  maxReconnectionDelay: 20,
  reconnectionDelayGrowFactor: 1,
  maxRetries: 50,
};

/** `@modelcontextprotocol/sdk`. */
const sdkV1: OfficialClient = {
  name: 'SDK v1',
  revision: '2025-11-25',
  methodOfTheOtherEra: 'server/discover',
  stepUpScope: 'read payments',
  atTheSameChallenge: '403 after trying upscoping',
  open(mcpUrl, oauth, fetch, session) {
    const client = new ClientV1(whoAmI);
    const transport = new TransportV1(mcpUrl, {
      authProvider: oauth,
      fetch,
      reconnectionOptions,
      ...(session !== undefined && { sessionId: session }),
    });
    return {
      connect: () => client.connect(transport),
      revision: () => transport.protocolVersion,
      session: () => transport.sessionId,
      listTools: () => client.listTools(),
      callTool: (call) => client.callTool(call),
      onToolsChanged: (heard) => client.setNotificationHandler(toolsChanged, heard),
      redeem: (callback) => transport.finishAuth(callback.searchParams.get('code') ?? ''),
      terminate: () => transport.terminateSession(),
      close: () => client.close(),
    };
  },
};

/** `@modelcontextprotocol/client` in the era that a mode means. */
function sdkV2(name: string, revision: string, mode: VersionNegotiationMode): OfficialClient {
  return {
    name,
    revision,
    methodOfTheOtherEra: mode === 'legacy' ? 'server/discover' : 'initialize',
    stepUpScope: 'read write payments',
    atTheSameChallenge: 'undefined',
    open(mcpUrl, oauth, fetch, session) {
      const client = new Client(whoAmI, { versionNegotiation: { mode } });
      const transport = new StreamableHTTPClientTransport(mcpUrl, {
        authProvider: oauth,
        fetch,
        reconnectionOptions,
        ...(session !== undefined && { sessionId: session, protocolVersion: revision }),
      });
      return {
        connect: () => client.connect(transport),
        revision: () => client.getNegotiatedProtocolVersion(),
        session: () => transport.sessionId,
        listTools: () => client.listTools(),
        callTool: (call) => client.callTool(call),
        onToolsChanged: (heard) => client.setNotificationHandler('notifications/tools/list_changed', heard),
        redeem: (callback) => transport.finishAuth(callback.searchParams),
        terminate: () => transport.terminateSession(),
        close: () => client.close(),
      };
    },
  };
}

/** The clients that only speak the revisions with sessions. */
export const legacyClients: readonly OfficialClient[] = [sdkV1, sdkV2('SDK v2, legacy', '2025-11-25', 'legacy')];

/** The client that finds out by itself which era a server speaks. */
export const sdkV2Auto = sdkV2('SDK v2, auto', '2026-07-28', 'auto');

/** Every official client, in every era. */
export const officialClients: readonly OfficialClient[] = [
  ...legacyClients,
  sdkV2Auto,
  sdkV2('SDK v2, 2026-07-28', '2026-07-28', { pin: '2026-07-28' }),
];
