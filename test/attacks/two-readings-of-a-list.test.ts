import type { ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, test } from 'vitest';
import { bodyOf, post } from './requests.ts';
import { startAttackWorld, UPSTREAM_TEXT } from '../worlds/attacks.ts';
import { asJson, startLockedWorld } from '../worlds/locked.ts';
import { startBeforeAll } from '../support/start-before.ts';

// test/mcp/lists.test.ts and test/mcp/body-filter.test.ts have the tables of lists and of events.

/** What the upstream answers now. */
let say: (response: ServerResponse) => void;
const world = startBeforeAll(() =>
  startAttackWorld({
    answer: (request, response) => (request.url === '/mcp' ? say(response) : void response.writeHead(200).end()),
  }),
);

const asked = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
const hidden = `[{"name":"hidden","title":"${UPSTREAM_TEXT}"}]`;
const around = (members: string): string => `{"jsonrpc":"2.0","id":1,${members}}`;
const list = around(`"result":{"tools":${hidden}}`);
const json = { 'content-type': 'application/json' };
const events = { 'content-type': 'text/event-stream' };

/** What a client gets of an answer. */
async function expectAnswer(status: number, answer: typeof say): Promise<string> {
  say = answer;
  const expected = { statuses: [status], reached: ['POST /mcp'] };
  const { answers } = await world.withstand(post(world.authorization, asked), expected);
  expect(answers.join('')).not.toContain('hidden');
  return answers[0] ?? '';
}

describe('refuses a list at its first byte if the list cannot be read', () => {
  test.each<[string, Parameters<ServerResponse['writeHead']>[1], string | Buffer]>([
    ['no Content-Type', {}, list],
    ['another type', { 'content-type': 'text/plain' }, list],
    ['a compressed one', { ...json, 'content-encoding': 'gzip' }, gzipSync(list)],
    ['the first of two types', ['content-type', json['content-type'], 'content-type', events['content-type']], list],
    [
      'the first of two encodings',
      ['content-type', events['content-type'], 'content-encoding', 'gzip', 'content-encoding', 'identity'],
      gzipSync(list),
    ],
  ])('%s', async (_what, headers, body) => {
    for (const pause of [false, true]) {
      const answer = await expectAnswer(502, (response) => {
        response.writeHead(200, headers);
        if (!pause) return void response.end(body);
        // The header section goes ahead, as of a server that streams.
        response.flushHeaders();
        setImmediate(() => response.end(body));
      });
      expect(bodyOf(answer)).toMatchObject({ id: 1, error: { data: { reason: 'upstream.invalid' } } });
    }
  });

  test.each([
    [202, {}],
    [202, { 'content-type': 'text/plain' }],
    [204, {}],
    [200, { 'content-length': '0' }],
  ])('forwards an empty %i with %j', async (status, headers) => {
    await expectAnswer(status, (response) => void response.writeHead(status, headers).end());
  });

  test('drops the body of a 202, which no client reads', async () => {
    await expectAnswer(202, (response) => void response.writeHead(202).end(list));
  });
});

test('a list is filtered with 201 too', async () => {
  const answer = await expectAnswer(201, (response) => void response.writeHead(201, json).end(list));
  expect(answer).toContain('"tools":[]');
});

describe('an answer that no client should take a list from, under a lock', () => {
  const changed = list.replace(UPSTREAM_TEXT, 'mallory');
  const locked = startBeforeAll(() => startLockedWorld({ approved: { tools: [{ name: 'hidden' }] } }));
  beforeAll(async () => {
    await locked.compared();
  });

  async function ask(form: typeof say): Promise<readonly [status: number, type: string | null, text: string]> {
    locked.form = form;
    const response = await locked.send(JSON.parse(asked) as object);
    return [response.status, response.headers.get('content-type'), await response.text().catch(() => '')];
  }

  const result = '{"jsonrpc":"2.0","id":1,"result":{"content":[]}}';
  const streamed = async (text: string): Promise<string> =>
    (await ask((response) => void response.writeHead(200, events).end(text)))[2];

  test('passes between events that are no messages', async () => {
    const text = `event: ping\ndata: ping\n\ndata: {ping}\n\ndata: \ufeff${result}\n\n:\r\r`;
    expect(await streamed(text)).toBe(text.replace('data: {ping}\n\n', '').replace(':\r\r', ':\n\n'));
  });

  test.each([
    ['that drops the characters of a BOM before the first line', `\xEF\xBB\xBFdata: ${changed}\n\n`],
    ['that knows no CR within an event', `data: \r${changed}\n\n`],
    ['that knows no CR between events', `data: \r\r${changed}\n\n`],
  ])('is none for a reader %s', async (_what, text) => {
    const lines = (await streamed(`${text}data: ${result}\n\n`)).replace(/^\xEF\xBB\xBF/, '').split('\n');
    expect(lines.filter((line) => line.startsWith('data:')).join('')).not.toContain('mallory');
  });

  test.each([
    ['has more bytes than the gateway holds', result.replace('[]', `["${'x'.repeat(9 * 1024 * 1024)}"]`)],
    ['is not JSON', result.replace('[]', '[NaN]')],
    ['has no end', result.slice(0, -1)],
  ])('gets a JSON-RPC error in its place, on the stream if that has begun, if it %s', async (_what, text) => {
    const answer = (await streamed(`data: ${text}\n\n`)).replace(/^event: message\ndata: /, '');
    expect(JSON.parse(answer)).toMatchObject({ id: 1, error: { code: 502, data: { reason: 'upstream.invalid' } } });
  });

  test.each([300, 404, 500])('is compared with the status %i too', async (status) => {
    for (const [type, text] of [
      [json, changed],
      [events, `data: ${changed}\n\n`],
    ] as const) {
      const [found, , body] = await ask((response) => void response.writeHead(status, type).end(text));
      expect(found).toBe(status);
      expect(body).toContain('"tools":[]');
    }
    locked.form = asJson;
    expect(await locked.call('hidden')).toBe('tool.changed');
  });

  test.each([
    ['the list twice', changed.replace('"result"', '"result":{},"result"'), {}],
    ['a compressed one', gzipSync(changed), { 'content-encoding': 'gzip' }],
  ])('is refused as an error with %s', async (_what, body, headers) => {
    const [status, , text] = await ask((response) => void response.writeHead(400, { ...json, ...headers }).end(body));
    expect(status).toBe(502);
    expect(text).not.toContain('mallory');
  });

  test.each([
    ['application/json', '{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"no"}}'],
    ['application/json', 'Unauthorized'],
    ['text/html', '<p>{no}</p>'],
    ['application/json', ''],
  ])('passes as an error of %s that is %j', async (type, body) => {
    const answer = await ask((response) => void response.writeHead(400, { 'content-type': type }).end(body));
    expect(answer).toEqual([400, type, body]);
  });
});

test.each(['utf-7'])('no list is in an event stream that says %s', async (charset) => {
  const type = `text/event-stream; charset=${charset}`;
  const text = `: x+AAo-data+ADo ${list.replaceAll('"', '+ACI-').replace('hidden', 'secret')}+AAoACg-\n\ndata: {}\n\n`;
  const answer = await expectAnswer(
    200,
    (response) => void response.writeHead(200, { 'content-type': type }).end(text),
  );
  expect(answer).toMatch(/^content-type: text\/event-stream\r$/im);
});

test('ends a stream that has begun with an error for its request, and logs the reason', async () => {
  const begun = Promise.withResolvers<ServerResponse>();
  say = (response) => {
    response.writeHead(200, events);
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
  const last = Buffer.from((await reader.read()).value ?? '').toString();
  expect(JSON.parse(last.replace(/^event: message\ndata: /, ''))).toMatchObject({
    id: 1,
    error: { code: 502, data: { reason: 'upstream.invalid' } },
  });
  expect((await reader.read()).done).toBe(true);
  await world.gateway.line({ msg: 'request failed', reason: 'upstream.invalid' });
});
