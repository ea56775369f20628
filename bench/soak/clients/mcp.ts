import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as LegacyTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Ledger } from '../ledger.ts';
import { users, type User } from '../tokens.ts';
import type { World } from '../world.ts';
import { pause, type Visitor } from './streams.ts';

/** A `fetch` for an official client. Enters each request in the ledger and adds the newest token. */
interface CountedFetch {
  readonly fetch: (url: string | URL, init?: RequestInit) => Promise<Response>;
  /** Resolves when every request has its answer. An abandoned request could have one that the client does not see. */
  readonly quiet: () => Promise<void>;
}

const who = { name: 'soak', version: '1.0.0' };
const transfer = { name: 'transfer_funds', arguments: { from: 'savings', to: 'trading', amount: 1 } };

function createCountedFetch(ledger: Ledger, route: string, kind: string, token: () => string): CountedFetch {
  const waiting = new Set<Promise<unknown>>();
  async function counted(url: string | URL, init: RequestInit = {}): Promise<Response> {
    // 403: a tool that the policy refuses. 405: a server that offers no stream.
    const sent = ledger.send(route, kind, [200, 202, 403, 405]);
    const headers = new Headers(init.headers);
    headers.set('authorization', `Bearer ${token()}`);
    headers.set('traceparent', sent.headers.traceparent);
    try {
      const response = await fetch(url, { ...init, headers });
      sent.answered(response.status);
      return response;
    } catch (error) {
      sent.broke(String((error as Error).cause ?? error));
      throw error;
    }
  }
  return {
    fetch(url, init) {
      const answer = counted(url, init);
      const forget = (): void => void waiting.delete(answer);
      waiting.add(answer);
      answer.then(forget, forget);
      return answer;
    },
    async quiet() {
      while (waiting.size > 0) await Promise.allSettled(waiting);
    },
  };
}

/** Ignores a refusal. The ledger checks it. */
async function unlessRefused(call: Promise<unknown>): Promise<void> {
  await call.catch(() => undefined);
}

/** A visit with a session (2025-11-25): lists, calls and an open stream. Every second visit ends its session. */
export function createSessionVisitor(ledger: Ledger, { tokens, mcp }: World, pauseMs: number): Visitor {
  return async (visit, ending) => {
    const user = users[visit % users.length] as User;
    const counted = createCountedFetch(ledger, 'sessions', 'session', () => tokens.mcp(user, mcp.sessions));
    const client = new LegacyClient(who);
    const transport = new LegacyTransport(new URL(mcp.sessions), { fetch: counted.fetch });
    try {
      await client.connect(transport);
      for (let round = 0; round < 6 && !ending.aborted; round += 1) {
        await client.listTools();
        await client.callTool({ name: 'list_accounts', arguments: {} });
        await unlessRefused(client.callTool({ name: 'close_account', arguments: {} }));
        await unlessRefused(client.callTool(transfer));
        await pause(pauseMs, ending);
      }
      await counted.quiet();
      if (visit % 2 === 0) await transport.terminateSession();
    } finally {
      await counted.quiet();
      // An open client would reopen its stream repeatedly.
      await client.close();
    }
  };
}

/** A visit without a session (2026-07-28). Every fifth visit steps up to more scope. */
export function createStatelessVisitor(ledger: Ledger, { tokens, mcp }: World, pauseMs: number): Visitor {
  return async (visit, ending) => {
    const user = users[visit % users.length] as User;
    let steppedUp: string | undefined;
    const token = (): string => steppedUp ?? tokens.mcp(user, mcp.stateless);
    const counted = createCountedFetch(ledger, 'mcp', 'stateless', token);
    const client = new Client(who, { versionNegotiation: { mode: { pin: '2026-07-28' } } });
    try {
      await client.connect(new StreamableHTTPClientTransport(new URL(mcp.stateless), { fetch: counted.fetch }));
      for (let round = 0; round < 6 && !ending.aborted; round += 1) {
        await client.listTools();
        await client.callTool({ name: 'get_balance', arguments: { account: 'savings' } });
        await client.callTool({ name: 'list_accounts', arguments: {} });
        await unlessRefused(client.callTool({ name: 'close_account', arguments: {} }));
        await unlessRefused(client.callTool(transfer));
        await pause(pauseMs, ending);
      }
      if (visit % 5 === 0) {
        steppedUp = await tokens.stepUp(user, mcp.stateless, 'read payments');
        await client.callTool(transfer);
      }
    } finally {
      await counted.quiet();
      await client.close();
    }
  };
}
