import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { listen } from '../../../demo/listen.ts';
import { definitionOf } from '../../../src/mcp/guarded-message.ts';
import { listDefinitions } from '../../../src/mcp/client/ask-server.ts';

/** The URL of a server of 2025-11-25 whose lists are as the test says, each a list of pages. */
async function serverWith(pages: Readonly<Record<string, readonly unknown[]>>, instructions?: string): Promise<string> {
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { id, method, params } = JSON.parse((await text(request)) || '{}') as {
      id?: number;
      method?: string;
      params?: { cursor?: string };
    };
    if (id === undefined) return void response.writeHead(request.method === 'GET' ? 405 : 202).end();
    const result = resultOf(method ?? '', Number(params?.cursor ?? 0));
    const error = { code: -32601, message: 'Method not found' };
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ jsonrpc: '2.0', id, ...(result === undefined ? { error } : { result }) }));
  };
  const resultOf = (method: string, page: number): object | undefined => {
    const member = method.split('/')[0] ?? '';
    if (method === 'initialize') {
      const capabilities = Object.fromEntries(Object.keys(pages).map((each) => [each, {}]));
      const serverInfo = { name: 'x', version: '1' };
      return {
        protocolVersion: '2025-11-25',
        capabilities,
        serverInfo,
        ...(instructions !== undefined && { instructions }),
      };
    }
    const list = pages[member];
    if (!method.endsWith('/list') || list === undefined) return undefined;
    return { [member]: list[page], ...(page + 1 < list.length && { nextCursor: String(page + 1) }) };
  };
  const running = await listen(
    createServer((request, response) => void answer(request, response)),
    0,
  );
  onTestFinished(() => running.close());
  return `${running.url}/mcp`;
}

test('returns tools and prompts of all pages with every member that the server sent, and the instructions', async () => {
  const tool = { name: 'pay', inputSchema: { type: 'object', 'x-own': { deep: [1.5] } }, unknownMember: { a: 1 } };
  const pages = {
    tools: [[tool], [], [tool, { nameless: true }]],
    prompts: [[{ name: 'plan', description: 'Plans.' }]],
  };
  expect(await listDefinitions(await serverWith(pages, 'Pay first.'))).toMatchObject([
    { ...definitionOf('instructions', '', 'Pay first.'), description: 'Pay first.' },
    { ...definitionOf('tool', 'pay', tool), description: '' },
    { ...definitionOf('tool', 'pay', tool), description: '' },
    { ...definitionOf('prompt', 'plan', { name: 'plan', description: 'Plans.' }), description: 'Plans.' },
  ]);
});

test('asks for no list that the server does not announce', async () => {
  expect(await listDefinitions(await serverWith({}))).toEqual([]);
  expect(await listDefinitions(await serverWith({ prompts: [[]] }))).toEqual([]);
});

test.for([
  ['a list that is none', { tools: ['x'] }, 'answered tools/list without a list of tools'],
  [
    'more pages than a server has',
    { prompts: Array.from({ length: 101 }, () => []) },
    'answered prompts/list with more than 100 pages',
  ],
  [
    'more definitions than a server has',
    { tools: [Array.from({ length: 10_001 }, () => 0)] },
    'answered with more than 10000 definitions',
  ],
])('%s is a fault', async ([, pages, message]) => {
  const url = await serverWith(pages as Record<string, unknown[]>);
  await expect(listDefinitions(url)).rejects.toMatchObject({ kind: 'other', message });
});

test('a look ends when its signal is aborted', async () => {
  const stop = new AbortController();
  const running = await listen(
    createServer(() => stop.abort(new Error('the gateway stops'))),
    0,
  );
  onTestFinished(() => running.close());
  const asking = listDefinitions(running.url, { timeoutMs: 60_000, maxBytes: 1000, signal: stop.signal });
  await expect(asking).rejects.toMatchObject({ kind: 'unreachable', message: 'the gateway stops' });
});

test('a server that refuses the headers is no server that demands some', async () => {
  const seen: unknown[] = [];
  const refusing = createServer(({ headers }, response) => {
    seen.push(headers.authorization);
    response.writeHead(403).end();
  });
  const running = await listen(refusing, 0);
  onTestFinished(() => running.close());
  const headers = new Headers({ authorization: 'Bearer x' });
  await expect(listDefinitions(running.url, { headers })).rejects.toThrow(
    'answered 403: it refuses the credentials that it got',
  );
  await expect(listDefinitions(running.url)).rejects.toThrow('answered 403: it demands credentials of its own');
  expect([...new Set(seen)]).toEqual(['Bearer x', undefined]);
});
