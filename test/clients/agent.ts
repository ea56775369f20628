import { UnauthorizedError } from '@modelcontextprotocol/client';
import { UnauthorizedError as UnauthorizedErrorV1 } from '@modelcontextprotocol/sdk/client/auth.js';
import { createBrowser, signIn, type Browser } from '../../demo/browser.ts';
import { WalkingClient, redirectUrl } from '../../demo/walk/oauth-client.ts';
import { createRecorder, type Recorder, type Seen } from '../../demo/walk/recorder.ts';
import { demoApiClient } from '../../demo/obtain-token.ts';
import type { Connection, OfficialClient } from './official-clients.ts';

/** A person's AI agent on one of the official clients. */
export interface Agent {
  readonly oauth: WalkingClient;
  readonly browser: Browser;
  /** What the client sent, and to which answer. */
  readonly recorder: Recorder;
  readonly revision: string | undefined;
  /** Connects anew; false when the client wants its user to authorize first. */
  connect(): Promise<boolean>;
  toolNames(): Promise<readonly string[]>;
  /** The text of a tool's answer; undefined when the client wants its user to authorize first. */
  call(tool: string, arguments_?: Record<string, unknown>): Promise<string | undefined>;
  /** Does what the client wants: the person consents and the client redeems the code. Returns the scope it asked for. */
  authorize(otherScope?: string): Promise<string | null>;
  close(): Promise<void>;
}

/** Who and with what. */
export interface AgentOptions {
  readonly user?: string;
  /** What the client keeps; default: nothing yet. */
  readonly oauth?: WalkingClient;
}

/** Makes an agent that has not connected yet. */
export function createAgent(client: OfficialClient, mcpUrl: URL, options: AgentOptions = {}): Agent {
  const { user = 'alice', oauth = new WalkingClient() } = options;
  const recorder = createRecorder();
  const browser = createBrowser();
  const open = (): Connection => client.open(mcpUrl, oauth, recorder.fetch);
  let connection = open();
  return {
    oauth,
    browser,
    recorder,
    get revision() {
      return connection.revision();
    },
    async connect() {
      await connection.close();
      // A transport that was refused once cannot be started again; a new one finds the tokens at the provider.
      connection = open();
      return (await unlessUnauthorized(connection.connect().then(() => true))) ?? false;
    },
    toolNames: async () => (await connection.listTools()).tools.map(({ name }) => name),
    call: (name, arguments_ = {}) =>
      unlessUnauthorized(connection.callTool({ name, arguments: arguments_ }).then((result) => textOf(result))),
    async authorize(otherScope) {
      const authorizationUrl = oauth.takeAuthorizationUrl();
      const asked = authorizationUrl.searchParams.get('scope');
      if (otherScope !== undefined) authorizationUrl.searchParams.set('scope', otherScope);
      await connection.redeem(await signIn({ authorizationUrl, user, browser }));
      return asked;
    },
    close: () => connection.close(),
  };
}

/** An agent whose person has signed in, and that has connected. */
export async function signedInAgent(client: OfficialClient, mcpUrl: URL, options?: AgentOptions): Promise<Agent> {
  const agent = createAgent(client, mcpUrl, options);
  if (!(await agent.connect())) {
    await agent.authorize();
    if (!(await agent.connect())) throw new Error('the client wants its user to authorize again');
  }
  agent.recorder.take();
  return agent;
}

/** What was posted to call tools. */
export function toolCalls(seen: readonly Seen[]): readonly Seen[] {
  return seen.filter(({ method, sent }) => method === 'POST' && sent?.includes('"tools/call"'));
}

async function unlessUnauthorized<Result>(result: Promise<Result>): Promise<Result | undefined> {
  try {
    return await result;
  } catch (error) {
    if (error instanceof UnauthorizedErrorV1 || UnauthorizedError.isInstance(error)) return undefined;
    throw error;
  }
}

function textOf(result: object): string {
  const content: unknown = 'content' in result ? result.content : undefined;
  const [first] = Array.isArray(content) ? (content as readonly { readonly text?: string }[]) : [];
  return first?.text ?? '';
}

/** What a client of the authorization server's own people keeps: the only ones that get refresh tokens. */
export function preRegistered(issuer: string): WalkingClient {
  const { clientId, clientSecret = '' } = demoApiClient;
  return new WalkingClient({
    client_id: clientId,
    client_secret: clientSecret,
    issuer,
    redirect_uris: [redirectUrl],
  });
}
