/** What an approval is bound to, and what of it approvers can read: nothing that reaches an upstream is neither. */
import { describe, expect, test } from 'vitest';
import { type BoundCall, boundCall } from '../../../src/capabilities/approvals/bound-call.ts';
import { mcpMethod } from '../../../src/core/model/mcp.ts';
import type { Call } from '../../../src/core/model/call.ts';
import type { Attempt } from '../../../src/core/model/policy.ts';

interface Sent {
  readonly headers?: Readonly<Record<string, string>>;
  readonly shows?: readonly string[];
  readonly continues?: string;
  /** More members of the message. */
  readonly message?: object;
  readonly method?: string;
  readonly asker?: string;
  /** Default: the endpoint of the route. */
  readonly target?: string;
  /** Of an MCP message; default: a modern one. */
  readonly era?: 'legacy' | 'modern';
}

function sent(
  attempt: Attempt,
  { headers = {}, shows, continues, asker, target = '/x', era = 'modern' }: Sent,
  body: Buffer | undefined,
): BoundCall {
  const [path, query] = target.split('?', 2);
  const names = Object.keys(headers);
  const fields = { raw: Object.entries(headers).flat(), names: names.map((name) => name.toLowerCase()) };
  return boundCall(
    { name: 'r', path: '/x' },
    {
      call: {
        method: 'DELETE',
        path,
        query: query === undefined ? '' : `?${query}`,
        fields: { ...fields, connection: headers['connection'] },
      } as unknown as Call,
      action: { attempt, era: attempt.kind === 'mcp' ? era : undefined, body, continues },
      needed: { rules: ['x'], shows, asker },
      caller: { issuer: 'https://as.example', subject: 'alice', client: 'agent' },
    },
  );
}

function mcp(params: Readonly<Record<string, unknown>>, options: Sent = {}): BoundCall {
  const method = mcpMethod(options.method ?? 'tools/call');
  const named = { name: 'pay', arguments: { amount: 1 }, ...params };
  const body = Buffer.from(
    JSON.stringify({ jsonrpc: '2.0', id: 1, method: method.name, params: named, ...options.message }),
  );
  return sent({ kind: 'mcp', method, targets: [{ kind: 'tool', name: 'pay' }], arguments: undefined }, options, body);
}

const http = (options: Sent = {}): BoundCall => sent({ kind: 'http' }, options, undefined);
const unshownIn = ({ shown: { unshown } }: BoundCall): unknown => unshown && (JSON.parse(unshown) as unknown);

test('is bound to the claims of the caller that approvers are compared with', () => {
  const digests = [undefined, '{"tenant":"acme"}', '{"tenant":"globex"}'].map(
    (asker) => mcp({}, asker === undefined ? {} : { asker }).digest,
  );
  expect(new Set(digests).size).toBe(3);
});

describe('is bound, counted and can be unfolded', () => {
  test.each<[what: string, params: Readonly<Record<string, unknown>>, options: Sent, unshown: object, hidden: number]>([
    ['a member of the parameters', { task: { ttl: 1, of: [] } }, {}, { params: { task: { ttl: 1, of: [] } } }, 2],
    ['an unknown member of _meta', { _meta: { 'x/amount': 5 } }, {}, { params: { _meta: { 'x/amount': 5 } } }, 1],
    [
      'a member of _meta in another form than the known one',
      { _meta: { progressToken: { amount: 5 }, baggage: ['x'] } },
      {},
      { params: { _meta: { progressToken: { amount: 5 }, baggage: ['x'] } } },
      2,
    ],
    [
      'answers that continue no round',
      { inputResponses: { sure: true }, requestState: { a: 1 } },
      {},
      { params: { inputResponses: { sure: true }, requestState: { a: 1 } } },
      2,
    ],
    ['a further member of the message', {}, { message: { extra: 'x' } }, { message: { extra: 'x' } }, 1],
    ['a header field', {}, { headers: { 'X-Amount': '5' } }, { headers: { 'x-amount': '5' } }, 1],
    ['a respelled header field', {}, { headers: { user_agent: 'x' } }, { headers: { user_agent: 'x' } }, 1],
    ['a parameter in the header', {}, { headers: { 'mcp-param-to': 'x' } }, { headers: { 'mcp-param-to': 'x' } }, 1],
  ])('%s', (_what, params, options, unshown, hidden) => {
    const [plain, call] = [mcp({}), mcp(params, options)];
    expect(call.digest).not.toBe(plain.digest);
    expect(unshownIn(call)).toEqual(unshown);
    expect(call.shown.hidden).toBe(hidden);
    expect(plain.shown).toEqual({
      route: 'r',
      method: 'tools/call',
      name: 'pay',
      arguments: '{"amount":1}',
      hidden: 0,
    });
  });

  test.each(['/x?account=2', '/x/', '/x/admin'])('%s, where the route passes paths and queries', (target) => {
    const call = mcp({}, { target });
    expect(call.digest).not.toBe(mcp({}).digest);
    expect(call.shown.path).toBe(target);
    const request = http({ target });
    expect(request.digest).not.toBe(http().digest);
    expect(request.shown.path).toBe(target);
  });

  test.each(['Mcp-Method', 'Mcp-Name'])('%s of a legacy message, with which nothing compared it', (name) => {
    const call = mcp({}, { era: 'legacy', headers: { [name]: 'other', 'Mcp-Session-Id': 's' } });
    expect(call.digest).not.toBe(mcp({}, { era: 'legacy' }).digest);
    expect(unshownIn(call)).toEqual({ headers: { [name.toLowerCase()]: 'other' } });
  });

  test('a header field of an HTTP request', () => {
    const call = http({ headers: { 'X-Amount': '5', Range: 'bytes=0-' } });
    expect(unshownIn(call)).toEqual({ headers: { 'x-amount': '5', range: 'bytes=0-' } });
    expect(call.shown.hidden).toBe(2);
    expect(call.digest).not.toBe(http({ headers: { 'X-Amount': '6', Range: 'bytes=0-' } }).digest);
    expect(call.digest).not.toBe(http().digest);
  });

  test('a credential of the caller, as a digest', () => {
    const call = http({ headers: { Cookie: 'sallyport_session=x; session=secret', 'X-Api-Key': 'secret' } });
    expect(unshownIn(call)).toEqual({
      headers: { cookie: expect.stringMatching(/^SHA-256 /), 'x-api-key': expect.stringMatching(/^SHA-256 /) },
    });
    expect(call.digest).toBe(http({ headers: { Cookie: 'session=secret', 'X-Api-Key': 'secret' } }).digest);
    expect(call.digest).not.toBe(http({ headers: { Cookie: 'session=other', 'X-Api-Key': 'secret' } }).digest);
  });

  test.each<[args: object, shows: readonly string[], unshown: unknown]>([
    [{ amount: 1, pin: 2, more: { a: 1, b: [2, 3] } }, ['/amount'], { pin: 2, more: { a: 1, b: [2, 3] } }],
    [{ to: { iban: 'x', name: 'y' }, list: [1, 2] }, ['/to/iban', '/list/0'], { to: { name: 'y' }, list: { 1: 2 } }],
    [{ to: { iban: 'x' } }, ['/to/iban'], undefined],
    [{ to: { iban: 'x' }, none: {}, also: [] }, ['/to'], { none: {}, also: [] }],
    [{ to: {} }, ['/to/iban'], { to: {} }],
    [{ to: 'a text' }, ['/to/iban'], { to: 'a text' }],
    [{}, ['/amount'], undefined],
  ])('what `shows` leaves out of %j with %j', (args, shows, unshown) => {
    const call = mcp({ arguments: args }, { shows });
    expect(unshownIn(call)).toEqual(unshown === undefined ? undefined : { arguments: unshown });
    expect(call.shown.hidden > 0).toBe(unshown !== undefined);
  });

  test('the parameters of a method without arguments, at once', () => {
    const call = mcp({ _meta: { x: 1 }, uri: 'file:///x' }, { method: 'resources/subscribe' });
    expect(JSON.parse(call.shown.arguments ?? '')).toMatchObject({ _meta: { x: 1 } });
  });
});

describe('differs between two requests for the same call', () => {
  test.each<[what: string, params: Readonly<Record<string, unknown>>, options?: Sent]>([
    [
      'tracing, progress, and what the client can do',
      {
        _meta: {
          progressToken: 7,
          traceparent: '00-1',
          tracestate: 'a=1',
          baggage: 'b=2',
          'io.modelcontextprotocol/protocolVersion': '2026-07-28',
          'io.modelcontextprotocol/clientInfo': { name: 'x' },
          'io.modelcontextprotocol/clientCapabilities': { elicitation: {} },
          'io.modelcontextprotocol/logLevel': 'debug',
        },
      },
    ],
    ['no _meta', { _meta: null }],
    ['what continues a round', { requestState: 'x', inputResponses: { sure: true } }, { continues: 'c' }],
    ['the id', {}, { message: { id: 2 } }],
    [
      'fields of the transport',
      {},
      {
        headers: {
          Accept: '*/*',
          'User-Agent': 'x',
          'Content-Type': 'application/json',
          Authorization: 'Bearer x',
          'X-Forwarded-For': '1.2.3.4',
          'X-Request-Id': 'x',
          'Mcp-Session-Id': 's',
          'Mcp-Protocol-Version': '2026-07-28',
          'Mcp-Method': 'tools/call',
          'Mcp-Name': 'pay',
          connection: 'close, x-hop',
          'X-Hop': 'not forwarded',
          Traceparent: '00-1',
          Cookie: 'sallyport_session=x',
        },
      },
    ],
  ])('%s', (_what, params, options) => {
    expect(mcp(params, options)).toEqual(mcp({}));
  });

  test('a name of MCP is a name as any other on an HTTP route', () => {
    expect(http({ headers: { 'mcp-name': 'x' } }).digest).not.toBe(http().digest);
  });
});
