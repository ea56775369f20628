import { describe, expect, test } from 'vitest';
import { Denial, type DenialExtras } from '../../../../src/core/model/denial.ts';
import { type Reason, refusals } from '../../../../src/core/model/reasons.ts';
import type { Action, MessageId } from '../../../../src/core/model/grant.ts';
import type { Route } from '../../../../src/core/model/route.ts';
import { createCrossOrigin } from '../../../../src/core/gateway/respond/cross-origin.ts';
import { createRefuse, toolError } from '../../../../src/core/gateway/respond/refuse.ts';
import { recorded } from './recorded.ts';
import { mcpMethod } from '../../../../src/core/model/mcp.ts';
import type { Era } from '../../../../src/core/model/mcp-method.ts';
import { call as callOf } from '../../policy/caller.ts';

const publicUrl = 'https://gateway.example';
const crossOrigin = createCrossOrigin((origin) => origin === 'https://app.example');
const mcp = {
  protocol: 'mcp',
  path: '/mcp',
  resource: {},
  policy: { scope: ['read'] },
  firstChallenge: 'policy',
} as unknown as Route;
const api = { ...mcp, protocol: 'http', path: '/api' } as Route;
const url = 'https://gateway.example/approvals/a1';
const approval = { id: 'a1', url, expiresAt: 0, requestState: 'state' };
const shownApproval = { id: 'a1', url, expires_at: '1970-01-01T00:00:00.000Z' };
const promptGet = {
  kind: 'mcp',
  method: mcpMethod('prompts/get'),
  targets: [{ kind: 'prompt', name: 'greet' }],
  arguments: undefined,
} as const;

interface Around {
  readonly route?: Route | undefined;
  readonly nonce?: () => string;
  readonly headers?: Record<string, string>;
  readonly messageId?: MessageId;
  readonly action?: Partial<Action>;
  readonly toolErrorPath?: string | undefined;
  readonly methods?: ReadonlySet<string> | undefined;
  readonly elicits?: boolean;
  readonly path?: string;
}

const toolCall = { attempt: callOf('pay'), messageId: 7, era: 'legacy', mayYieldHandle: false } as unknown as Action;

function refused(
  reason: Reason,
  extras: DenialExtras = {},
  { headers, messageId = null, action, path = '/mcp', route, ...parts }: Around = {},
) {
  const { call, answer } = recorded('POST', path, headers);
  const read = { ...toolCall, attempt: { kind: 'http' }, messageId, ...action } as const;
  const refuse = createRefuse(route, { publicUrl, crossOrigin, ...parts });
  const result = refuse(call, new Denial(reason, 'why', extras), read);
  const sent = answer();
  const { 'WWW-Authenticate': challenges = [] } = sent?.headers ?? {};
  const { because } = extras;
  expect(result, 'the record has what was sent').toEqual({
    status: sent?.status,
    challenges: [challenges].flat(),
    because,
  });
  return sent;
}

// test/spec has whole answers: demo-api, final-refusals and wire.test.ts.
describe('the body says that it was refused, and by which decision, never why', () => {
  test.each<[Reason, code: number, message: string]>([
    ['body.malformed', -32700, 'Parse error'],
    ['claim.denied', 403, 'Access denied'],
  ])('JSON-RPC 2.0 §5.1, with the id of the message: %s', (reason, code, message) => {
    const answer = refused(reason, { because: 'Ask.' }, { route: mcp, messageId: 7 });
    expect(answer?.headers).toMatchObject({ 'Content-Type': 'application/json', 'Cache-Control': 'no-store' });
    const error = { code, message, data: { reason, decision: 'decision-1', because: 'Ask.' } };
    expect(JSON.parse(answer?.body ?? '')).toEqual({ jsonrpc: '2.0', id: 7, error });
  });

  test('with what the protocol wants beside them', () => {
    const answer = refused('message.version', { data: { supported: ['2025-11-25'] } }, { route: mcp });
    expect(JSON.parse(answer?.body ?? '')).toMatchObject({
      id: null,
      error: { data: { supported: ['2025-11-25'], reason: 'message.version' } },
    });
  });

  test('names the scopes of the challenge in its data', () => {
    const route = { ...mcp, scopePrefix: 'api://' } as Route;
    const answer = refused('scope.insufficient', { scope: ['read', 'pay'] }, { route });
    expect(answer?.headers['WWW-Authenticate']).toContain('scope="api://read api://pay"');
    expect(JSON.parse(answer?.body ?? '')).toMatchObject({ error: { data: { scope: 'api://read api://pay' } } });
  });

  test.each<[Reason, string, readonly string[]]>([
    ['claim.denied', 'no scope would mend it', ['read']],
    ['scope.insufficient', 'the authorization server named none', []],
  ])('has no scope in its data: %s, where %s', (reason, _why, scope) => {
    const answer = refused(reason, { scope }, { route: mcp });
    expect(JSON.parse(answer?.body ?? '')).toMatchObject({ error: { data: { reason } } });
    expect(JSON.parse(answer?.body ?? '')).not.toHaveProperty('error.data.scope');
  });
});

test('names the sign-in that an operation needs', () => {
  const { body } = refused('authentication.insufficient', { authentication: { maxAge: 5 } }, { route: mcp }) ?? {};
  expect(JSON.parse(body ?? '')).toMatchObject({ error: { data: { max_age: 5 } } });
});

describe('an API', () => {
  test('R-13, R-15: gets an empty body with a 401', () => {
    const { status, headers, body } = refused('token.expired', {}, { route: api }) ?? {};
    expect([status, headers?.['Content-Type'], body]).toEqual([401, undefined, '']);
  });

  test.each<[Reason, DenialExtras, members: object]>([
    ['claim.denied', {}, {}],
    ['approval.required', { because: 'Ask.', approval }, { detail: 'Ask.', approval: shownApproval }],
  ])('RFC 9457 §3.1: gets a problem document: %s', (reason, extras, members) => {
    const { headers, body } = refused(reason, extras, { route: api }) ?? {};
    expect(headers?.['Content-Type']).toBe('application/problem+json');
    const document = { title: 'Access denied', status: 403, reason, decision: 'decision-1', ...members };
    expect(JSON.parse(body ?? '')).toEqual(document);
  });

  test.each([
    ['route.method', undefined, 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS'],
    ['route.method', new Set(['GET', 'PUT']), 'GET, PUT'],
    ['route.unknown', undefined, undefined],
  ] as const)('RFC 9110 §15.5.6: learns from a 405 what is allowed: %s, %o', (reason, methods, allowed) => {
    expect(refused(reason, {}, { route: api, methods })?.headers['Allow']).toBe(allowed);
  });
});

describe('an approval', () => {
  const remediationHints = [{ type: 'url', url }];
  const hints = { reason: 'insufficient_authorization', remediation: 'available', remediationHints };

  test.each<[Reason, DenialExtras, members: object]>([
    [
      'approval.required',
      { approval },
      { approval: shownApproval, _meta: { 'io.modelcontextprotocol/authorization': hints } },
    ],
    ['approval.required', {}, {}],
    ['approval.denied', { approval }, { approval: shownApproval }],
  ])('SEP-2848: is named where a call needs one: %s %j', (reason, extras, members) => {
    const { body } = refused(reason, extras, { route: mcp }) ?? {};
    const { error } = JSON.parse(body ?? '') as { error: { data: object } };
    expect(error.data).toEqual({ reason, decision: 'decision-1', ...members });
  });

  test.each<[of: string, DenialExtras, message: string]>([
    ['the policy', { because: 'Ask.' }, 'Ask.'],
    ['the gateway', {}, 'This call needs an approval'],
  ])('2026-07-28 §Multi round-trip requests: opens its page, with the words of %s', (_of, extras, message) => {
    const { status, headers, body } =
      refused('approval.required', { approval, ...extras }, { route: mcp, elicits: true, messageId: 7 }) ?? {};
    expect([status, headers?.['Content-Type']]).toEqual([200, 'application/json']);
    const inputRequests = {
      'approval-a1': { method: 'elicitation/create', params: { mode: 'url', url, message } },
    };
    const result = { resultType: 'input_required', inputRequests, requestState: 'state' };
    expect(JSON.parse(body ?? '')).toEqual({ jsonrpc: '2.0', id: 7, result });
  });

  const around = { route: mcp, elicits: true, messageId: 7 };
  test.each<[what: string, DenialExtras, Around]>([
    ['a client that opens none', { approval: { ...approval, requestState: undefined } }, around],
    ['a notification', { approval }, { ...around, messageId: null }],
    ['a proxy, which would take the status for a permission', { approval }, { ...around, elicits: false }],
    ['another refusal', {}, around],
  ])('opens no page for %s', (_what, extras, where) => {
    expect(refused('approval.required', extras, where)?.status).toBe(403);
  });
});

describe('the id of the message', () => {
  const idOf = (denial: Denial, action: Action | undefined): unknown => {
    const { call, answer } = recorded('POST', '/mcp');
    createRefuse(mcp, { publicUrl, crossOrigin })(call, denial, action);
    return (JSON.parse(answer()?.body ?? '') as { id: unknown }).id;
  };
  const early = new Denial('message.meta', 'why', { messageId: 8 });

  test('is that of the action, or else of the denial, or else null', () => {
    expect(idOf(early, toolCall)).toBe(7);
    expect(idOf(early, undefined)).toBe(8);
    expect(idOf(new Denial('token.expired', 'why'), undefined)).toBeNull();
  });
});

describe('a tool error', () => {
  const around = { route: mcp, action: toolCall, toolErrorPath: '/mcp' };

  test('keeps the headers of the refusing stage, of CORS and of DPoP', () => {
    const headers = { origin: 'https://app.example' };
    const answer = refused(
      'tool.unlisted',
      { headers: { RateLimit: 'r=0' } },
      { ...around, headers, nonce: () => 'n' },
    );
    expect(answer?.headers).toMatchObject({
      RateLimit: 'r=0',
      'Access-Control-Allow-Origin': 'https://app.example',
      'DPoP-Nonce': 'n',
      'Content-Type': 'application/json',
    });
  });

  test.each<[string, Reason, Around, number]>([
    ['a tool', 'claim.denied', around, 200],
    [
      'a task of 2026-07-28',
      'claim.denied',
      { ...around, action: { ...toolCall, era: 'modern', mayYieldHandle: true } },
      200,
    ],
    ['a route without tool errors', 'claim.denied', { ...around, toolErrorPath: undefined }, 403],
    ['a scope that is missing', 'scope.insufficient', around, 403],
    ['a lifetime', 'lifetime.exceeded', around, 403],
    ['a token that has expired', 'token.expired', around, 401],
    ['a rate limit', 'rate.exceeded', around, 429],
    ['an outage', 'authorization_server.unavailable', around, 503],
    ['another method', 'claim.denied', { ...around, action: { ...toolCall, attempt: promptGet } }, 403],
    ['a list', 'claim.denied', { ...around, action: { ...toolCall, attempt: { ...promptGet, targets: [] } } }, 403],
    ['a plain request', 'claim.denied', { ...around, action: { ...toolCall, attempt: { kind: 'http' } } }, 403],
    ['a notification', 'claim.denied', { ...around, action: { ...toolCall, messageId: null } }, 403],
    ['a call for a task', 'claim.denied', { ...around, action: { ...toolCall, mayYieldHandle: true } }, 403],
    ['a path below the endpoint', 'claim.denied', { ...around, path: '/mcp/messages' }, 403],
  ])('answers for %s: %s', (_what, reason, where, status) => {
    expect(refused(reason, {}, where)?.status).toBe(status);
  });

  test('is not for a call that the gateway has not read', () => {
    const { call, answer } = recorded('POST', '/mcp');
    createRefuse(mcp, { publicUrl, crossOrigin, toolErrorPath: '/mcp' })(
      call,
      new Denial('claim.denied', 'why'),
      undefined,
    );
    expect(answer()?.status).toBe(403);
  });
});

describe('the headers', () => {
  test('a challenge on a route, none where nothing was matched', () => {
    const challenge = 'Bearer error="invalid_token", scope="read", resource_metadata="';
    expect(refused('token.expired', {}, { route: mcp })?.headers['WWW-Authenticate']).toContain(challenge);
    expect(refused('claim.denied', {}, { route: mcp })?.headers).not.toHaveProperty('WWW-Authenticate');
    expect(refused('token.expired')?.headers).not.toHaveProperty('WWW-Authenticate');
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
  createRefuse(undefined, { publicUrl, crossOrigin })(call, new Denial(reason, 'why'), undefined);
  expect(call.response.shouldKeepAlive).toBe(kept);
});

test.each<[Era, DenialExtras, retryAfter: number | undefined, text: string, resultType?: string]>([
  ['legacy', {}, undefined, 'Too many requests.'],
  ['legacy', {}, 30, 'Too many requests. Try again in 30 seconds.'],
  ['legacy', { because: 'At most 20 a day.' }, 30, 'Too many requests: At most 20 a day. Try again in 30 seconds.'],
  ['modern', { because: 'Ask "ops"' }, undefined, 'Too many requests: Ask "ops"', 'complete'],
  ['legacy', { approval }, undefined, `Too many requests. A person can approve this call at ${url}.`],
])(
  'a tool error says why in one line, and how long to wait: %s, %j, %j',
  (era, extras, retryAfter, text, resultType) => {
    const denial = new Denial('rate.exceeded', 'the detail', extras);
    const refusal = refusals['rate.exceeded'];
    const body = toolError({ refusal, denial, scope: [], decision: 'd', messageId: 'x', retryAfter }, era);
    const content = [{ type: 'text', text: `${text} (decision d)` }];
    expect(JSON.parse(body.text)).toEqual({ jsonrpc: '2.0', id: 'x', result: { resultType, content, isError: true } });
  },
);
