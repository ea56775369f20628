import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bodyOf, callOf, post } from './requests.ts';
import { lastHead } from '../support/raw.ts';
import { type AttackWorld, startAttackWorld } from '../worlds/attacks.ts';

let world: AttackWorld;
beforeAll(async () => {
  world = await startAttackWorld();
});
afterAll(() => world.close());

const denied = callOf('delete_everything');
const form = `jsonrpc=2.0&method=tools/call&params=${encodeURIComponent('{"name":"delete_everything"}')}`;

describe('R-101: does not forward a body unread that an upstream may parse as a message', () => {
  test.each([
    'text/plain',
    'text/json',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/jsonp',
    'application/json5',
    'application/json-seq',
    'application/vnd.api+json',
    'application/*',
    '*/*',
    'application/json, text/plain',
    'text/plain; application/json',
    'application/json; charset=utf-16',
    'application/json; charset=utf-7',
    'application/json; charset=utf-8; charset=utf-16',
    'application/json;boundary=x',
    'application\\json',
    'application/ json',
    '"application/json"',
    'application/json\u00A0',
    '',
  ])('refuses Content-Type: %s', async (type) => {
    await world.withstand(post(world.authorization, denied, `Content-Type: ${type}`), {
      statuses: [415],
      reasons: ['body.type'],
    });
  });

  test('refuses a body without a Content-Type', async () => {
    const request = lastHead('POST /mcp', world.authorization, `Content-Length: ${denied.length}`) + denied;
    await world.withstand(request, { statuses: [415], reasons: ['body.type'] });
  });

  test('refuses two Content-Types', async () => {
    const lines = ['Content-Type: application/json', 'Content-Type: text/plain'];
    await world.withstand(post(world.authorization, denied, ...lines), {
      statuses: [400],
      reasons: ['request.duplicate_header'],
    });
  });
});

describe('a compressed message', () => {
  test.each<[string, Buffer]>([
    ['gzip', gzipSync(denied)],
    ['x-gzip', gzipSync(denied)],
    ['deflate', deflateSync(denied)],
    ['br', brotliCompressSync(denied)],
    ['identity, gzip', gzipSync(denied)],
    ['gzip, identity', gzipSync(denied)],
    ['GZIP', gzipSync(denied)],
    ['unknown', Buffer.from(denied)],
    ['', Buffer.from(denied)],
  ])('is refused with Content-Encoding: %s', async (encoding, body) => {
    await world.withstand(post(world.authorization, body, `Content-Encoding: ${encoding}`), {
      statuses: [415],
      reasons: ['body.encoding'],
    });
  });

  test('is refused as invalid JSON without a Content-Encoding', async () => {
    await world.withstand(post(world.authorization, gzipSync(denied)), {
      statuses: [400],
      reasons: ['body.malformed'],
    });
  });

  test('is refused with a transfer coding', async () => {
    const packed = gzipSync(denied);
    const head = lastHead(
      'POST /mcp',
      world.authorization,
      'Content-Type: application/json',
      'Transfer-Encoding: gzip, chunked',
    );
    const chunk = Buffer.concat([
      Buffer.from(`${packed.length.toString(16)}\r\n`),
      packed,
      Buffer.from('\r\n0\r\n\r\n'),
    ]);
    await world.withstand(Buffer.concat([Buffer.from(head), chunk]), { statuses: [400] });
  });
});

test.each([
  'application/json',
  'APPLICATION/JSON',
  'application/json; charset=utf-8',
  'application/json;charset="UTF-8"',
])('decides on a message with Content-Type: %s', async (type) => {
  const { answers } = await world.withstand(post(world.authorization, denied, `Content-Type: ${type}`), {
    statuses: [403],
    reasons: ['tool.unlisted'],
  });
  expect(bodyOf(answers[0])).toMatchObject({ id: 1, error: { data: { reason: 'tool.unlisted' } } });
});

test.each(['GET', 'DELETE', 'OPTIONS', 'PUT', 'PATCH', 'QUERY', 'PROPFIND'])(
  'does not forward a %s with a message in it unread',
  async (method) => {
    const request = post(world.authorization, denied).toString().replace('POST', method);
    const { answers } = await world.withstand(request, { statuses: [expect.any(Number) as number] });
    expect(Number(answers[0]?.slice(9, 12))).toBeLessThan(500);
  },
);

test('refuses a form in place of a message', async () => {
  await world.withstand(post(world.authorization, form), { statuses: [400], reasons: ['body.malformed'] });
});
