/** The official clients and servers under rules over time: whichever form an answer has, it settles its call. */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { describe, expect, test } from 'vitest';

import type { Running } from '../../demo/listen.ts';
import type { WalkingClient } from '../../demo/walk/oauth-client.ts';
import { type DemoWorld, startDemoBeforeAll } from '../worlds/demo.ts';
import { signedInAgent, preRegistered } from './agent.ts';
import { startClaimsServer, startClaimsServerV1 } from './claims-server.ts';
import { legacyClients, officialClients, sdkV2Auto } from './official-clients.ts';

const toolsPolicy = `
scope: read
because: Ask your supervisor.
tools:
  approve: {}
  confirm: {}
  review: {}
  disburse:
    after: { tool: [approve, confirm, review], within: 1h, same: [/claim] }
  pay:
    quota: [{ sum: /amount, at_most: 5000, per: 1h, by: client }]
`;

const whoAmI = { name: 'claims', version: '1.0.0' };
const refused = /^Access denied: Ask your supervisor\. /;
const exceeded = /^Too many requests: Ask your supervisor\. /;

/** Each test has a claim of its own. */
let claims = 0;
const newClaim = (): number => (claims += 1);

const worldBefore = (tools: () => Promise<Running>) =>
  startDemoBeforeAll({
    tools,
    policies: { 'demo-tools': toolsPolicy },
    edit: (yaml) => yaml.replace('policy: demo-tools\n', 'policy: demo-tools\n    refusals: { final: tool_error }\n'),
  });

/** What a client keeps whose person has signed in. */
async function signedInOAuth({ issuer, mcpUrl }: DemoWorld): Promise<WalkingClient> {
  const oauth = preRegistered(issuer);
  await (await signedInAgent(sdkV2Auto, mcpUrl, { oauth })).close();
  return oauth;
}

describe.each([
  { clients: officialClients, type: 'text/event-stream', start: () => startClaimsServer('sse') },
  { clients: legacyClients, type: 'application/json', start: () => startClaimsServerV1() },
])('answers as $type', ({ clients, type, start }) => {
  const { world, keep } = worldBefore(start);
  const signedIn = async (client: (typeof clients)[number]) => keep(await signedInAgent(client, world().mcpUrl));

  test.each(clients)('R-249, R-251: $name may go on after an answer, and not after a tool error', async (client) => {
    const agent = await signedIn(client);
    const claim = newClaim();
    expect(await agent.call('disburse', { claim })).toMatch(refused);
    expect(await agent.call('approve', { claim, isRefused: true })).toBe('refused');
    expect(await agent.call('disburse', { claim })).toMatch(refused);
    expect(await agent.call('approve', { claim })).toBe('done');
    const answered = agent.recorder.take().at(-1);
    expect(answered?.headers.get('content-type')).toContain(type);
    expect(await agent.call('disburse', { claim })).toBe('done');
  });

  test.each(clients)('R-250, R-251: $name uses up a quota, and gets back what a tool error used', async (client) => {
    const agent = await signedIn(client);
    expect(await agent.call('pay', { amount: 5000, isRefused: true })).toBe('refused');
    expect(await agent.call('pay', { amount: 3000 })).toBe('done');
    expect(await agent.call('pay', { amount: 3000 })).toMatch(exceeded);
    expect(await agent.call('pay', { amount: 2000 })).toBe('done');
  });
});

describe('a call that needs input', () => {
  const { world } = worldBefore(() => startClaimsServer('json'));

  test('R-254: approves when its last round is answered, which the client does by itself', async () => {
    const oauth = await signedInOAuth(world());
    const client = new Client(whoAmI, {
      capabilities: { elicitation: { form: {} } },
      versionNegotiation: { mode: 'auto' },
    });
    const claim = newClaim();
    const disburse = async (): Promise<unknown> => client.callTool({ name: 'disburse', arguments: { claim } });
    const between: unknown[] = [];
    client.setRequestHandler('elicitation/create', async () => {
      between.push(await disburse());
      return { action: 'accept', content: { isSure: true } };
    });
    await client.connect(new StreamableHTTPClientTransport(world().mcpUrl, { authProvider: oauth }));
    expect(await client.callTool({ name: 'confirm', arguments: { claim } })).toMatchObject({
      content: [{ text: 'done' }],
    });
    expect(between).toEqual([
      expect.objectContaining({ isError: true, content: [{ type: 'text', text: expect.stringMatching(refused) }] }),
    ]);
    expect(await disburse()).toMatchObject({ content: [{ text: 'done' }] });
    await client.close();
  });
});

describe('a task', () => {
  const { world } = worldBefore(() => startClaimsServerV1());

  test.each([
    { what: 'answers its call when the client fetches its result', isRefused: false, decides: { isError: false } },
    { what: 'that ends with a tool error answers no call', isRefused: true, decides: { isError: true } },
  ])('R-254: $what', async ({ isRefused, decides }) => {
    const oauth = await signedInOAuth(world());
    const client = new ClientV1(whoAmI);
    await client.connect(new TransportV1(world().mcpUrl, { authProvider: oauth }));
    await client.listTools();
    const claim = newClaim();
    const disburse = async (): Promise<unknown> => client.callTool({ name: 'disburse', arguments: { claim } });
    const seen: string[] = [];
    const between: unknown[] = [];
    const reviewed = client.experimental.tasks.callToolStream({ name: 'review', arguments: { claim, isRefused } });
    for await (const { type } of reviewed) {
      seen.push(type);
      if (type === 'taskCreated') between.push(await disburse());
    }
    expect(between).toMatchObject([{ isError: true }]);
    expect(seen).toEqual(['taskCreated', 'taskStatus', 'result']);
    expect(await disburse()).toMatchObject(decides);
    await client.close();
  });
});
