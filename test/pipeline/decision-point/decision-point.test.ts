import type { ServerResponse } from 'node:http';
import { expect, test } from 'vitest';
import type { Call } from '../../../src/model/call.ts';
import type { Grant } from '../../../src/model/grant.ts';
import type { Route } from '../../../src/model/route.ts';
import { DecisionPoint } from '../../../src/pipeline/decision-point/decision-point.ts';
import { startUpstream } from '../../support/upstream.ts';

const route = { name: 'api', path: '/api', upstream: { identity: new Map() } } as unknown as Route;
const call = { id: 'request', method: 'GET', path: '/api' } as Call;
const grantOf = (subject: string): Grant =>
  ({
    principal: { subject, callerKey: subject, issuer: 'http://as.test', grantedScopes: [], claims: {} },
    action: { attempt: { kind: 'http' } },
    decision: { allow: true, rule: '', plan: undefined },
  }) as unknown as Grant;

test('R-336: one caller has at most 256 open questions, and leaves room for others', async () => {
  const waiting: ServerResponse[] = [];
  let open = false;
  const answerTo = (response: ServerResponse): void =>
    void response.writeHead(200, { 'content-type': 'application/json' }).end('{"decision":true}');
  const server = await startUpstream(({ method }, response) => {
    if (method === 'GET') response.writeHead(404).end();
    else if (open) answerTo(response);
    else waiting.push(response);
  });
  const settings = { name: 'acme', url: server.url, token: undefined, timeoutMs: 20_000, sendsArguments: false };
  const point = new DecisionPoint(settings, 'http://gateway.test', Date.now, Math.random);
  const requireOf = point.requireOn(route);

  const alices = Array.from({ length: 256 }, async () => requireOf(call, grantOf('alice')));
  await expect(requireOf(call, grantOf('alice'))).rejects.toMatchObject({
    reason: 'decision_point.unavailable',
    detail: 'acme: too many questions are in flight',
    retryAfterSeconds: 1,
  });
  const bobs = requireOf(call, grantOf('bob'));
  open = true;
  for (const response of waiting) answerTo(response);
  await Promise.all([...alices, bobs]);
  await requireOf(call, grantOf('alice'));
  await server.close();
});
