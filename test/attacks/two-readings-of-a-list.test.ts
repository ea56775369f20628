import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bodyOf, post } from './requests.ts';
import { type AttackWorld, startAttackWorld, UPSTREAM_TEXT } from '../worlds/attacks.ts';

/** What the upstream answers now. */
let say: (response: ServerResponse) => void;
let world: AttackWorld;
beforeAll(async () => {
  world = await startAttackWorld({
    answer: (request, response) => (request.url === '/mcp' ? say(response) : void response.writeHead(200).end()),
  });
});
afterAll(() => world.close());

const asked = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
const hidden = `[{"name":"hidden","title":"${UPSTREAM_TEXT}"}]`;
const shown = `[{"name":"get_price","title":"${UPSTREAM_TEXT}"}]`;
const around = (members: string): string => `{"jsonrpc":"2.0","id":1,${members}}`;
const list = around(`"result":{"tools":${hidden}}`);

describe('refuses a list at its first byte if the list cannot be read', () => {
  test.each([
    ['no Content-Type', {}],
    ['another type', { 'content-type': 'text/plain' }],
    ['a compressed one', { 'content-type': 'application/json', 'content-encoding': 'gzip' }],
  ])('%s', async (_what, headers) => {
    for (const pause of [false, true]) {
      say = (response) => {
        response.writeHead(200, headers);
        if (!pause) return void response.end(list);
        // The header section goes ahead, as of a server that streams.
        response.flushHeaders();
        setImmediate(() => response.end(list));
      };
      // oxlint-disable-next-line no-await-in-loop -- One attack at a time.
      const { answers } = await world.withstand(post(world.authorization, asked), {
        statuses: [502],
        reached: ['POST /mcp'],
      });
      expect(bodyOf(answers[0])).toMatchObject({ id: 1, error: { data: { reason: 'upstream.invalid' } } });
    }
  });

  test.each([
    [202, {}],
    [202, { 'content-type': 'text/plain' }],
    [204, {}],
    [200, { 'content-length': '0' }],
  ])('forwards an empty %i with %j', async (status, headers) => {
    say = (response) => void response.writeHead(status, headers).end();
    await world.withstand(post(world.authorization, asked), { statuses: [status], reached: ['POST /mcp'] });
  });

  test('drops the body of a 202, which no client reads', async () => {
    say = (response) => void response.writeHead(202).end(list);
    const { answers } = await world.withstand(post(world.authorization, asked), {
      statuses: [202],
      reached: ['POST /mcp'],
    });
    expect(answers[0]).not.toContain('hidden');
  });
});

const twice: readonly (readonly [string, string])[] = [
  ['tools twice', around(`"result":{"tools":${hidden},"tools":${shown}}`)],
  ['tools twice, by an escape', around(`"result":{"t\\u006fols":${hidden},"tools":${shown}}`)],
  ['result twice', around(`"result":{"tools":${hidden}},"result":{"tools":${shown}}`)],
  ['a result, then none', around(`"result":{"tools":${hidden}},"result":{}`)],
  ['a name twice', around('"result":{"tools":[{"name":"hidden","name":"get_price"}]}')],
  ['a batch of answers', `[${around(`"result":{"tools":${hidden},"tools":${shown}}`)}]`],
];
const invalid: readonly (readonly [string, string])[] = [
  ['Tools beside tools', around(`"result":{"tools":${shown},"Tools":${hidden}}`)],
  ['Tools alone', around(`"result":{"Tools":${hidden}}`)],
  ['toolſ', around(`"result":{"toolſ":${hidden}}`)],
  ['RESULT', around(`"RESULT":{"tools":${hidden}}`)],
  ['Name beside name', around('"result":{"tools":[{"name":"get_price","Name":"hidden"}]}')],
  ['CacheScope', around(`"result":{"tools":${shown},"cacheScope":"private","CacheScope":"public"}`)],
  ['tools as an object', around('"result":{"tools":{"0":{"name":"hidden"}}}')],
  ['a batch within a batch', `[[${list}]]`],
];

describe.each(['application/json', 'text/event-stream'])('a list that two parsers read differently, as %s', (type) => {
  const body = (text: string): string => (type === 'application/json' ? text : `data: ${text}\n\n`);

  test.each(twice)('is rewritten: %s', async (_what, text) => {
    say = (response) => void response.writeHead(200, { 'content-type': type }).end(body(text));
    const { answers } = await world.withstand(post(world.authorization, asked), {
      statuses: [200],
      reached: ['POST /mcp'],
    });
    expect(answers[0]).not.toContain('hidden');
  });

  test.each(invalid)('is refused: %s', async (_what, text) => {
    say = (response) => void response.writeHead(200, { 'content-type': type }).end(body(text));
    const { answers } = await world.withstand(post(world.authorization, asked), {
      statuses: [502],
      reached: ['POST /mcp'],
    });
    expect(answers.join('')).not.toContain('hidden');
    await world.gateway.line({ msg: 'request failed', reason: 'upstream.invalid' });
  });
});

test('aborts a stream that has begun, and logs the reason', async () => {
  const begun = Promise.withResolvers<ServerResponse>();
  say = (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write('data: {"jsonrpc":"2.0","method":"notifications/progress"}\n\n', () => begun.resolve(response));
  };
  await world.gateway.clearLog();
  const answer = await fetch(`${world.url}/mcp`, {
    method: 'POST',
    headers: { authorization: world.authorization.slice('Authorization: '.length), 'content-type': 'application/json' },
    body: asked,
  });
  const reader = answer.body?.getReader() as ReadableStreamDefaultReader<Uint8Array>;
  expect(Buffer.from((await reader.read()).value ?? '').toString()).toContain('notifications/progress');
  (await begun.promise).end(`data: ${around(`"result":{"Tools":${hidden}}`)}\n\n`);
  await expect(reader.read()).rejects.toThrow('terminated');
  await world.gateway.line({ msg: 'request failed', reason: 'upstream.invalid' });
});
