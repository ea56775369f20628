import { describe, expect, test } from 'vitest';
import { Denial, type DenialExtras, type Reason } from '../../src/model/denial.ts';
import type { MessageId } from '../../src/model/grant.ts';
import type { Route } from '../../src/model/route.ts';
import { createCrossOrigin } from '../../src/respond/cross-origin.ts';
import { createRefuse } from '../../src/respond/refuse.ts';
import { recorded } from './recorded.ts';

const publicUrl = 'https://gateway.example';
const crossOrigin = createCrossOrigin((origin) => origin === 'https://app.example');
const mcp = { protocol: 'mcp', path: '/mcp', resource: {}, policy: { scope: ['read'] } } as unknown as Route;
const http = { protocol: 'http', path: '/api' } as Route;

interface Around {
  readonly route?: Route | undefined;
  readonly methods?: ReadonlySet<string>;
  readonly nonce?: () => string;
  readonly headers?: Record<string, string>;
  readonly messageId?: MessageId;
}

function refused(
  reason: Reason,
  extras: DenialExtras = {},
  { route, methods, nonce, headers, messageId = null }: Around = {},
) {
  const { call, answer } = recorded('POST', '/', headers);
  createRefuse(route, { methods, publicUrl, crossOrigin, nonce })(call, new Denial(reason, 'why', extras), messageId);
  return answer();
}

describe('the body says that it was refused, and by which decision, never why', () => {
  test('RFC 9457, where it is no message', () => {
    expect(refused('claim.denied', {}, { route: http })).toEqual({
      status: 403,
      headers: {
        'Content-Type': 'application/problem+json',
        'Cache-Control': 'no-store',
        'Content-Length': 86,
        'X-Request-Id': 'request-1',
      },
      body: '{"title":"Access denied","status":403,"reason":"claim.denied","decision":"decision-1"}',
    });
  });

  test.each<[Reason, unknown]>([
    [
      'body.malformed',
      { code: -32700, message: 'Parse error', data: { reason: 'body.malformed', decision: 'decision-1' } },
    ],
    ['claim.denied', { code: 403, message: 'Access denied', data: { reason: 'claim.denied', decision: 'decision-1' } }],
  ])('JSON-RPC 2.0 §5.1, with the id of the message: %s', (reason, error) => {
    const answer = refused(reason, {}, { route: mcp, messageId: 7 });
    expect(answer?.headers).toMatchObject({ 'Content-Type': 'application/json', 'Cache-Control': 'no-store' });
    expect(JSON.parse(answer?.body ?? '')).toEqual({ jsonrpc: '2.0', id: 7, error });
  });

  test('with what the protocol wants beside them', () => {
    const answer = refused('message.version', { data: { supported: ['2025-11-25'] } }, { route: mcp });
    expect(JSON.parse(answer?.body ?? '')).toMatchObject({
      id: null,
      error: { data: { supported: ['2025-11-25'], reason: 'message.version' } },
    });
  });

  test.each(['scope.insufficient', 'exchange.insufficient_scope'] as const)(
    'names the scopes of the challenge in its data: %s',
    (reason) => {
      const answer = refused(reason, { scope: ['read', 'payments'] }, { route: mcp });
      expect(answer?.headers['WWW-Authenticate']).toContain('scope="read payments"');
      expect(JSON.parse(answer?.body ?? '')).toMatchObject({ error: { data: { scope: 'read payments' } } });
    },
  );

  test.each<[Reason, string, readonly string[]]>([
    ['claim.denied', 'no scope would mend it', ['read']],
    ['exchange.insufficient_scope', 'the authorization server named none', []],
  ])('has no scope in its data: %s, where %s', (reason, _why, scope) => {
    const answer = refused(reason, { scope }, { route: mcp });
    expect(JSON.parse(answer?.body ?? '')).toMatchObject({ error: { data: { reason } } });
    expect(JSON.parse(answer?.body ?? '')).not.toHaveProperty('error.data.scope');
  });

  test('with the words of the operator: `detail` of a problem document, `because` of an error', () => {
    const extras = { because: 'Use "request_transfer".' };
    expect(refused('claim.denied', extras, { route: http })?.body).toBe(
      '{"title":"Access denied","status":403,"detail":"Use \\"request_transfer\\".","reason":"claim.denied","decision":"decision-1"}',
    );
    expect(JSON.parse(refused('claim.denied', extras, { route: mcp })?.body ?? '')).toMatchObject({
      error: { data: { reason: 'claim.denied', decision: 'decision-1', because: 'Use "request_transfer".' } },
    });
  });

  test('R-13: a 401 of an API has none', () => {
    expect(refused('token.expired', {}, { route: http })).toEqual({
      status: 401,
      headers: { 'WWW-Authenticate': 'Bearer error="invalid_token"', 'Content-Length': 0, 'X-Request-Id': 'request-1' },
      body: '',
    });
    expect(refused('token.expired', {}, { route: mcp })?.body).not.toBe('');
    expect(refused('token.expired')?.body).not.toBe('');
  });
});

describe('the headers', () => {
  test('a challenge on a route, none where nothing was matched', () => {
    const challenge = 'Bearer error="invalid_token", scope="read", resource_metadata="';
    expect(refused('token.expired', {}, { route: mcp })?.headers['WWW-Authenticate']).toContain(challenge);
    expect(refused('claim.denied', {}, { route: mcp })?.headers).not.toHaveProperty('WWW-Authenticate');
    expect(refused('token.expired')?.headers).not.toHaveProperty('WWW-Authenticate');
  });

  test('what only who refuses can fill, and what the page of an allowed origin may read', () => {
    const headers = { origin: 'https://app.example' };
    expect(refused('rate.exceeded', { headers: { RateLimit: 'r=0' } }, { headers })?.headers).toMatchObject({
      RateLimit: 'r=0',
      'Access-Control-Allow-Origin': 'https://app.example',
    });
  });

  test('RFC 9449 §8.2: a nonce with each answer, where proofs need one', () => {
    expect(refused('claim.denied', {}, { route: http, nonce: () => 'n' })?.headers['DPoP-Nonce']).toBe('n');
    expect(refused('claim.denied', {}, { route: http })?.headers).not.toHaveProperty('DPoP-Nonce');
  });

  test('RFC 9110 §15.5.6: a 405 says what is allowed, and nothing else does', () => {
    expect(refused('route.method', {}, { methods: new Set(['GET', 'POST']) })?.headers['Allow']).toBe('GET, POST');
    expect(refused('route.method')?.headers['Allow']).toBe('GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS');
    expect(refused('claim.denied')?.headers).not.toHaveProperty('Allow');
  });

  test.each([
    ['authorization_server.unavailable', undefined, '5'],
    ['authorization_server.unavailable', 0, '1'],
    ['authorization_server.unavailable', 1.2, '2'],
    ['authorization_server.unavailable', 59.5, '60'],
    ['shared_store.unavailable', 3600, '60'],
    ['rate.exceeded', 3600, '3600'],
    ['rate.exceeded', undefined, undefined],
    ['claim.denied', 10, undefined],
  ] as const)('%s that takes %s s: Retry-After is %s', (reason, retryAfterSeconds, wanted) => {
    const answer = refused(reason, { retryAfterSeconds }, { route: mcp });
    expect(answer?.headers['Retry-After']).toBe(wanted);
    const { error } = JSON.parse(answer?.body ?? '') as { error: { data: { retry_after?: number } } };
    expect(error.data.retry_after).toBe(wanted === undefined ? undefined : Number(wanted));
  });
});

test.each<[Reason, string, boolean]>([
  ['request.framing', 'closes', false],
  ['request.path', 'keeps', true],
  ['token.expired', 'keeps', true],
])('RFC 9112 §6.1: %s %s the connection', (reason, _verb, kept) => {
  const { call } = recorded('POST', '/');
  createRefuse(undefined, { publicUrl, crossOrigin })(call, new Denial(reason, 'why'), null);
  expect(call.response.shouldKeepAlive).toBe(kept);
});
