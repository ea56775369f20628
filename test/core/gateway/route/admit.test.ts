import { describe, expect, test } from 'vitest';
import type { Call } from '../../../../src/core/model/call.ts';
import type { Route } from '../../../../src/core/model/route.ts';
import { createAdmit, createAdmitUpgrade, methodsOf } from '../../../../src/core/gateway/route/admit.ts';
import { orReason } from '../../../support/denial.ts';

const http = { protocol: 'http', methods: undefined, upgrade: undefined } as Route;
const mcp = { ...http, protocol: 'mcp' } as Route;
const readOnly = { ...http, methods: new Set(['GET']) } as Route;
const webSocket = { ...http, upgrade: 'websocket' } as Route;

function admitted(
  route: Route,
  method: string,
  isUpgrade = false,
  fields: Partial<Call['fields']> = {},
  path = '/',
): string {
  return orReason(() => {
    const call = { method, path, fields } as Call;
    createAdmit(route)(call);
    if (isUpgrade) createAdmitUpgrade(route)(call);
    return 'admitted';
  });
}

describe('methods', () => {
  test.each<readonly [why: string, Route, method: string, wanted: string]>([
    ['http takes all', http, 'PROPFIND', 'admitted'],
    ['but not TRACE, which shows what we tell the upstream', http, 'TRACE', 'route.method'],
    ['even where listed', { ...http, methods: new Set(['TRACE']) }, 'TRACE', 'route.method'],
    ['mcp takes what Streamable HTTP knows', mcp, 'POST', 'admitted'],
    ['mcp: the stream', mcp, 'GET', 'admitted'],
    ['mcp: the end of a session', mcp, 'DELETE', 'admitted'],
    ['mcp: nothing else', mcp, 'PUT', 'route.method'],
    ...['HEAD', 'OPTIONS', 'PATCH', 'QUERY', 'PROPFIND'].map(
      (method) => [`mcp: no ${method}`, mcp, method, 'route.method'] as const,
    ),
    ['a list is a list', readOnly, 'GET', 'admitted'],
    ['and HEAD is not on it', readOnly, 'HEAD', 'route.method'],
    ['nor is OPTIONS', readOnly, 'OPTIONS', 'route.method'],
    ['nor another case', readOnly, 'get', 'route.method'],
  ])('%s', (_why, route, method, wanted) => expect(admitted(route, method)).toBe(wanted));

  test('what a 405 allows', () => {
    expect(methodsOf(http)).toBeUndefined();
    expect([...(methodsOf(mcp) ?? [])]).toEqual(['POST', 'GET', 'DELETE']);
    expect([...(methodsOf(readOnly) ?? [])]).toEqual(['GET']);
  });
});

describe('paths', () => {
  const tools = { ...mcp, path: '/mcp', below: 'refuse' } as Route;
  const atRoot = { ...tools, path: '/' } as Route;
  const legacy = { ...tools, below: 'pass' } as Route;

  test.each([
    ['the endpoint', tools, '/mcp', 'admitted'],
    ['below the endpoint', tools, '/mcp/messages', 'route.unknown'],
    ['a trailing slash', tools, '/mcp/', 'route.unknown'],
    ['the root as the endpoint', atRoot, '/', 'admitted'],
    ['below the root', atRoot, '/messages', 'route.unknown'],
    ['below, where the route passes it', legacy, '/mcp/messages', 'admitted'],
  ])('%s', (_what, route, path, wanted) => {
    expect(admitted(route, 'POST', false, {}, path)).toBe(wanted);
  });
});

test.each([
  ['where they are served', webSocket, 'GET', {}, 'admitted'],
  ['with an empty body', webSocket, 'GET', { contentLength: '0' }, 'admitted'],
  ['nowhere else', http, 'GET', {}, 'route.upgrade'],
  ['by no other method', webSocket, 'POST', {}, 'route.upgrade'],
  ['not with a counted body', webSocket, 'GET', { contentLength: '1' }, 'request.framing'],
  ['not with a chunked body', webSocket, 'GET', { transferEncoding: 'chunked' }, 'request.framing'],
])('upgrades: %s', (_why, route, method, fields, wanted) => expect(admitted(route, method, true, fields)).toBe(wanted));
