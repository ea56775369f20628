import { describe, expect, test } from 'vitest';
import { createActionReader, type ActionParts } from '../../src/authorize/action.ts';
import type { Call } from '../../src/model/call.ts';
import { Denial } from '../../src/model/denial.ts';
import type { Action } from '../../src/model/grant.ts';
import type { Route } from '../../src/model/route.ts';

const ping = Buffer.from('{"jsonrpc":"2.0","id":1,"method":"ping"}');

async function action(
  protocol: Route['protocol'],
  method: string,
  fields: Partial<Call['fields']>,
): Promise<Action | string> {
  const sessions = { bind: () => '', unbind: () => undefined };
  const read = createActionReader(
    { protocol } as Route,
    {
      readBody: () => Promise.resolve(ping),
      sessions,
    } as Partial<ActionParts> as ActionParts,
  );
  try {
    return await read({ method, fields } as Call, undefined);
  } catch (error) {
    if (error instanceof Denial) return error.reason;
    throw error;
  }
}

describe('http', () => {
  test('is decided on by its head; the body is not read', async () => {
    expect(await action('http', 'POST', { contentType: 'text/plain' })).toMatchObject({
      attempt: { kind: 'http' },
      messageId: null,
      body: undefined,
    });
  });
});

describe('mcp', () => {
  test('a POST is its message, with the bytes that were read', async () => {
    expect(await action('mcp', 'POST', { contentType: 'application/json' })).toMatchObject({
      attempt: { kind: 'mcp', method: 'ping', targets: [] },
      messageId: 1,
      body: ping,
    });
  });

  test.each(['GET', 'DELETE'])('a %s has none', async (method) => {
    expect(await action('mcp', method, {})).toMatchObject({
      attempt: { kind: 'mcp', method: undefined, targets: [] },
      messageId: null,
      body: undefined,
    });
    expect(await action('mcp', method, { contentLength: '0' })).toHaveProperty('body', undefined);
  });

  test.each([
    ['a session that was given to nobody', 'GET', { mcpSessionId: 'x' }, 'session.unknown'],
    ['a GET with a counted body', 'GET', { contentLength: '3' }, 'request.framing'],
    ['a DELETE with a chunked body', 'DELETE', { transferEncoding: 'chunked' }, 'request.framing'],
    ['no content type', 'POST', {}, 'body.type'],
    ['another', 'POST', { contentType: 'text/plain' }, 'body.type'],
    ['a longer one', 'POST', { contentType: 'application/json-rpc' }, 'body.type'],
    ['two in one', 'POST', { contentType: 'application/json, text/plain' }, 'body.type'],
    ['another charset', 'POST', { contentType: 'application/json; charset=utf-16' }, 'body.type'],
    ['two charsets', 'POST', { contentType: 'application/json; charset=utf-8; charset=utf-7' }, 'body.type'],
    ['gzip', 'POST', { contentType: 'application/json', contentEncoding: 'gzip' }, 'body.encoding'],
    [
      'identity and gzip',
      'POST',
      { contentType: 'application/json', contentEncoding: 'identity, gzip' },
      'body.encoding',
    ],
    ['an empty encoding', 'POST', { contentType: 'application/json', contentEncoding: '' }, 'body.encoding'],
  ])('%s → refused', async (_why, method, fields, wanted) => expect(await action('mcp', method, fields)).toBe(wanted));

  test.each([
    ['application/json; charset=utf-8', undefined],
    ['Application/JSON;charset="UTF-8"', undefined],
    ['application/json ', 'Identity'],
  ])('%s, %s → read', async (contentType, contentEncoding) => {
    expect(await action('mcp', 'POST', { contentType, contentEncoding })).toHaveProperty('body', ping);
  });
});
