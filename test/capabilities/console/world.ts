import { mkdtemp, mkdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { load } from '../../../src/serve/config/load.ts';
import type { Clock } from '../../../src/core/lib/clock.ts';
import { start } from '../../../src/serve/start.ts';
import { startIssuer, type Issuer } from '../../support/issuer.ts';
import { postCall } from '../../support/mcp-message.ts';
import { adminAt, keepConfig, noLongerAdminAt } from '../../support/secrecy.ts';
import { sendJson, startUpstream } from '../../support/upstream.ts';
import { createWrittenLog } from '../../support/written-log.ts';

/** A gateway whose policies are on disk, with callers: for the console. */
export interface ConsoleWorld {
  readonly adminUrl: string;
  readonly issuer: Issuer;
  readonly folder: string;
  /** What the admin listener answers at a path. */
  read<Answer>(path: string): Promise<Answer>;
  /** Calls a tool as a caller with some claims, and returns the status. */
  call(claims: Readonly<Record<string, unknown>>, tool: string, input?: object): Promise<number>;
  /** One call of each kind: allowed, asked for a scope, refused for several reasons, shadow. */
  calls(): Promise<void>;
  /** Ends the gateway. */
  stop(): Promise<void>;
  /** Starts another gateway at the same addresses. */
  restart(): Promise<void>;
  /** Loads the files again; returns their problems. */
  reload(): Promise<readonly string[]>;
  close(): Promise<void>;
}

/** What is different from the usual world. */
export interface ConsoleWorldOptions {
  /** `admin`, in YAML. */
  readonly admin?: string;
  /** Added to gateway.yaml. */
  readonly more?: string;
  /** Added to the route of the tools. */
  readonly route?: string;
  /** The entry of the tool `order`, in YAML. */
  readonly tool?: string;
  readonly clock?: Clock;
}

const toolsPolicy = `# What the demo's callers may do.
scope: read
tools:
  "get_*": {}
  transfer_funds:
    scope: payments
    claims:
      role: trader
    arguments:
      /amount: { at_most: 1000 }
  close_account:
    claims: { role: { one_of: [owner, admin] } }
    because: Ask the owner of the account.
`;

const toolsTests = `- name: a reader gets a balance
  given: { scope: read }
  when: { tool: get_balance }
  then: allow
- name: a reader is asked for the scope of payments
  given: { scope: read, claims: { role: trader } }
  when: { tool: transfer_funds, arguments: { amount: 10 } }
  then: { deny: scope.insufficient, challenge: read payments }
- name: a large sum is denied
  given: { scope: read payments, claims: { role: trader } }
  when: { tool: transfer_funds, arguments: { amount: 5000 } }
  then: { deny: argument.denied }
- name: a trader closes no account
  given: { scope: read, claims: { role: trader } }
  when: { tool: close_account }
  then: { deny: claim.denied }
- name: only traders move money
  for_all: { claims: { role: { not: trader } } }
  when: { tool: transfer_funds }
  then: deny
`;

/** Starts the gateway, an issuer that it trusts, and an MCP server that answers every call. */
export async function startConsoleWorld({
  admin = '127.0.0.1:0',
  more = '',
  route = '',
  tool,
  clock = Date.now,
}: ConsoleWorldOptions = {}): Promise<ConsoleWorld> {
  const [issuer, upstream] = await Promise.all([
    startIssuer(),
    startUpstream((_request, response, body) => {
      const { id } = JSON.parse(body === '' ? '{}' : body) as { id?: number };
      sendJson(response, 200, { jsonrpc: '2.0', id, result: { content: [{ type: 'text', text: 'done' }] } });
    }),
  ]);
  const folder = await mkdtemp(join(tmpdir(), 'sallyport-console-'));
  await mkdir(join(folder, 'policies'));
  const files = {
    'demo-tools.yaml': tool === undefined ? toolsPolicy : `${toolsPolicy}  order: ${tool}\n`,
    'demo-tools.test.yaml': toolsTests,
    'risk.yaml': 'mode: shadow\nclaims:\n  risk: { integer: true, below: 50 }\n',
  };
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, 'policies', name), text);
  const file = join(folder, 'gateway.yaml');
  const write = (listen: string, adminListen: string): Promise<void> =>
    writeFile(
      file,
      `public_url: https://gateway.bank.example
allowed_hosts: [127.0.0.1]
listen: ${listen}
admin: ${adminListen}
${more}
authorization_servers: { main: { issuer: ${issuer.url}, jwt: { algorithms: [RS256] } } }
routes:
  - name: demo-tools
    path: /mcp
    protocol: mcp
    policy: demo-tools
    upstream: { url: ${upstream.url}/mcp }
    ${route}
  - name: demo-data
    path: /demo/data
    audience: https://gateway.bank.example/mcp
    policy: risk
    upstream: { url: ${upstream.url} }
`,
    );
  await write('127.0.0.1:0', admin);
  let running = await begin();

  async function begin() {
    const { config } = await load(file);
    keepConfig(config);
    const started = await start(config, { output: createWrittenLog().output, clock });
    adminAt(started.adminUrl);
    return started;
  }

  async function end(): Promise<void> {
    noLongerAdminAt(running.adminUrl);
    await running.close(0);
  }

  const seconds = Math.floor(Date.now() / 1000);
  const dates = { iat: seconds - 2 * 3600, exp: seconds + 3600 };
  const tokens = new Map<string, Promise<string>>();
  function tokenOf(claims: Readonly<Record<string, unknown>>): Promise<string> {
    const key = JSON.stringify(claims);
    const known = tokens.get(key) ?? issuer.sign({ ...dates, aud: 'https://gateway.bank.example/mcp', ...claims });
    tokens.set(key, known);
    return known;
  }

  async function call(claims: Readonly<Record<string, unknown>>, tool: string, input: object = {}): Promise<number> {
    const answer = await postCall(`${running.url}/mcp`, tool, input, { token: await tokenOf(claims) });
    await answer.text();
    return answer.status;
  }

  async function get(claims: Readonly<Record<string, unknown>> | undefined): Promise<number> {
    const headers = claims === undefined ? {} : { authorization: `Bearer ${await tokenOf(claims)}` };
    const answer = await fetch(`${running.url}/demo/data`, { headers });
    await answer.text();
    return answer.status;
  }

  const [alice, bob, carol, agent] = [
    { sub: 'alice', client_id: 'claude', scope: 'read payments', role: 'trader' },
    { sub: 'bob', client_id: 'cursor', scope: 'read', role: 'trader' },
    { sub: 'carol', client_id: 'vscode', scope: 'read payments', role: 'analyst' },
    { client_id: 'nightly-report', scope: 'read', risk: 71 },
  ];

  return {
    adminUrl: running.adminUrl ?? '',
    issuer,
    folder,
    read: async <Answer>(path: string) => (await (await fetch(`${running.adminUrl}${path}`)).json()) as Answer,
    call,
    async calls() {
      await call(alice, 'get_balance', { account: 'savings' });
      await call(bob, 'transfer_funds', { amount: 10 });
      await call(alice, 'transfer_funds', { amount: 5000 });
      await call(alice, 'transfer_funds', { amount: 250 });
      await call(carol, 'transfer_funds', { amount: 10 });
      await call(carol, 'delete_everything');
      await get(agent);
      await get(undefined);
      await call({ ...bob, exp: 1_700_000_000, iat: 1_699_999_000 }, 'get_rates');
    },
    stop: end,
    async restart() {
      const { url, adminUrl = '' } = running;
      await write(new URL(url).host, new URL(adminUrl).host);
      running = await begin();
    },
    async reload() {
      try {
        const { config, snapshot } = await load(file);
        await running.reload(config, snapshot);
        return [];
      } catch (error) {
        const problems = (error as Error).message.split('\n');
        running.reloadRefused(problems);
        return problems;
      }
    },
    async close() {
      await end();
      await Promise.all([issuer.close(), upstream.close()]);
    },
  };
}
