import { describe, expect, test } from 'vitest';
import { disagreement, wrongAnswer, type DecisionLine } from './request/oracle.ts';
import type { PythonReading } from './request/python.ts';
import type { Recorded } from './request/recorder.ts';

const fields: readonly (readonly [string, string])[] = [
  ['host', '127.0.0.1:3000'],
  ['x-forwarded-for', '127.0.0.1'],
  ['x-forwarded-proto', 'http'],
  ['x-forwarded-host', 'gateway.test'],
  ['x-request-id', 'i'],
  ['x-auth-subject', 'alice'],
  ['x-auth-client', 'a'],
];
const body = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_x"}}';
const decision: DecisionLine = {
  request_id: 'i',
  allow: true,
  route: 'tools',
  subject: 'alice',
  client_id: 'a',
  method: 'tools/call',
  tool: 'get_x',
};

interface Seen {
  readonly request?: Partial<Recorded>;
  readonly python?: Partial<PythonReading>;
  readonly headers?: readonly (readonly [string, string])[];
  readonly decided?: Partial<DecisionLine>;
}

function judged({ request, python, headers = fields, decided }: Seen): string | undefined {
  const message = { method: 'tools/call', name: 'get_x', amount: null, odd: [] };
  return disagreement(
    {
      raw: Buffer.alloc(0),
      method: 'POST',
      target: '/u/tools',
      rawHeaders: headers.flat(),
      body: Buffer.from(body),
      complete: true,
      ...request,
    },
    {
      method: 'POST',
      target: '/u/tools',
      path: '/u/tools',
      headers,
      framings: 1,
      complete: true,
      length: body.length,
      rest: 0,
      message,
      ...python,
    },
    { ...decision, ...decided },
  );
}

const named = (name: string): Seen => ({
  python: { message: { method: 'tools/call', name, amount: null, odd: [] } },
  decided: { tool: name },
});

describe('the oracle of the request path', () => {
  test('accepts a request that equals its decision', () => expect(judged({})).toBeUndefined());

  test.each<[what: string, seen: Seen, finding: RegExp]>([
    ['a request that was refused', { decided: { allow: false, reason: 'claim.denied' } }, /was refused/],
    ['another method', { python: { method: 'GET' } }, /Node reads the method/],
    ['another target', { request: { target: '/u/tools/x' } }, /Node reads the target/],
    ['a shorter body', { python: { length: 3 } }, /bytes of body/],
    ['a second request after it', { python: { rest: 40 } }, /after the request/],
    ['two framings', { python: { framings: 2 } }, /frame the body/],
    ['a field that only one parser reads', { request: { rawHeaders: [] } }, /other fields/],
    ['another route', { decided: { route: 'data' } }, /not a path of data/],
    ['a path of another route', path('/u/fallback/admin', 'fallback'), /belongs to admin/],
    ['the same in capitals', path('/u/fallback/ADMIN/x', 'fallback'), /belongs to admin/],
    ['a path that goes up', path('/u/data/../admin', 'data'), /goes elsewhere/],
    ['a path parameter', path('/u/data/x;y', 'data'), /cuts it/],
    ['the client’s token', { headers: [...fields, ['authorization', 'Bearer x']] }, /Authorization/],
    ['an identity twice', { headers: [...fields, ['x_auth_subject', 'root']] }, /x-auth-subject/],
    ['a forwarded field of the client', { headers: [...fields, ['x-original-url', '/admin']] }, /x-original-url/],
    ['a method other than the decided one', { decided: { method: 'ping' } }, /decision is for ping/],
    ['a tool other than the decided one', { decided: { tool: 'get_y' } }, /for the tool get_y/],
    ['keys that look alike', { python: { message: { method: 'tools/call', odd: ['Method'] } } }, /may differ/],
    ['a tool that no caller may call', named('delete_all'), /may not/],
    ['a route that no caller may reach', path('/u/admin', 'admin'), /no caller may reach/],
  ])('finds %s', (_, seen, finding) => expect(judged(seen)).toMatch(finding));

  test('finds a wrong status, an answer of an upstream to a refused request, and an internal error', () => {
    const answer = { status: 200, id: 'i', isRelayed: true };
    expect(wrongAnswer(answer, { ...decision, allow: false }, undefined)).toMatch(/not allowed/);
    const ours = { status: 403, id: 'i', isRelayed: false };
    expect(wrongAnswer(ours, { ...decision, allow: false, reason: 'token.expired' }, undefined)).toMatch(
      /which is 401/,
    );
    expect(wrongAnswer(ours, { ...decision, allow: false, reason: 'x' }, undefined)).toMatch(/unknown reason/);
    expect(wrongAnswer({ ...ours, status: 500 }, decision, 'gateway.error')).toMatch(/internal error/);
    expect(wrongAnswer(ours, { ...decision, allow: false, reason: 'claim.denied' }, undefined)).toBeUndefined();
  });
});

function path(target: string, route: string): Seen {
  return {
    request: { target, method: 'GET', body: Buffer.alloc(0) },
    python: { target, path: target, method: 'GET', length: 0 },
    decided: { route, method: 'GET' },
  };
}
