import { describe, expect, test } from 'vitest';
import { createCrossOrigin } from '../../../../src/core/gateway/respond/cross-origin.ts';
import { recorded } from './recorded.ts';

const { headers, preflight } = createCrossOrigin((origin) => origin === 'https://app.example');
const exposed =
  'WWW-Authenticate, Mcp-Session-Id, MCP-Protocol-Version, DPoP-Nonce, Retry-After, RateLimit, RateLimit-Policy, X-Request-Id';
const requestable =
  'Authorization, Content-Type, Accept, MCP-Protocol-Version, Mcp-Method, Mcp-Name, Mcp-Session-Id, Last-Event-ID, DPoP';
const asked = { origin: 'https://app.example', 'access-control-request-method': 'PATCH' };

describe('what a page may read', () => {
  test('of an allowed origin', () => {
    expect(headers(recorded('GET', '/', { origin: 'https://app.example' }).call)).toEqual({
      'Access-Control-Allow-Origin': 'https://app.example',
      'Access-Control-Expose-Headers': exposed,
      Vary: 'Origin',
    });
  });

  test.each([[{ origin: 'https://evil.example' }], [{}]])('of none: %j', (fields) => {
    expect(headers(recorded('GET', '/', fields as Record<string, string>).call)).toEqual({});
  });
});

describe('a preflight, Fetch §3.2.2', () => {
  test.each([
    ['of a route that serves all methods', undefined, 'PATCH'],
    ['of one that serves some', new Set(['GET', 'POST']), 'GET, POST'],
  ])('%s', (_title, methods, allowed) => {
    const { call, answer } = recorded('OPTIONS', '/', asked);
    expect(preflight(call, methods)).toBe(true);
    expect(answer()).toEqual({
      status: 204,
      headers: {
        'Access-Control-Allow-Origin': 'https://app.example',
        'Access-Control-Expose-Headers': exposed,
        'Access-Control-Allow-Methods': allowed,
        'Access-Control-Allow-Headers': requestable,
        'Access-Control-Max-Age': '86400',
        Vary: 'Origin, Access-Control-Request-Method, Access-Control-Request-Headers',
        'X-Request-Id': 'request-1',
      },
      body: '',
    });
  });

  test.each([
    ['what is known is not said twice', 'authorization,CONTENT-TYPE', ''],
    ['what else it asks for', 'mcp-param-city, x-1', ', mcp-param-city, x-1'],
    ['what is no name is left out', 'a b,x-1;q,"x",x\u00e9,', ''],
    ['each character of a name', "!#$%&'*+-.^_`|~09AZaz", ", !#$%&'*+-.^_`|~09AZaz"],
  ])('may send: %s', (_title, names, more) => {
    const { call, answer } = recorded('OPTIONS', '/', { ...asked, 'access-control-request-headers': names });
    preflight(call, undefined);
    expect(answer()?.headers['Access-Control-Allow-Headers']).toBe(requestable + more);
  });

  test.each([
    ['another method', 'POST', asked],
    ['nothing that names an origin', 'OPTIONS', { 'access-control-request-method': 'GET' }],
    ['nothing that asks for a method', 'OPTIONS', { origin: 'https://app.example' }],
  ])('is no %s', (_title, method, fields) => {
    const { call, answer } = recorded(method, '/', fields);
    expect(preflight(call, undefined)).toBe(false);
    expect(answer()).toBeUndefined();
  });
});
