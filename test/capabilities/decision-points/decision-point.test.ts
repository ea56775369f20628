import { Denial } from '../../../src/core/model/denial.ts';
import { afterEach, describe, expect, test } from 'vitest';
import { DecisionPoint } from '../../../src/capabilities/decision-points/decision-point.ts';
import type { DecisionPointSettings } from '../../../src/capabilities/decision-points/settings.ts';
import {
  allows,
  askedCall,
  askedRoute,
  grantOf,
  json,
  metadataOf,
  noMetadata,
  startPdp,
} from '../../support/decision-point.ts';
import { compilePolicy } from '../../../src/policy-parts/compile.ts';
import { call } from '../../core/policy/caller.ts';
import { forThisTest, startBeforeAll } from '../../support/start-before.ts';
import { openedConfig } from '../../support/opened-config.ts';
import type { RequestHandler } from '../../support/upstream.ts';

const { root } = openedConfig('decision_points: { acme: { url: https://pdp.example } }');
const acme = { name: 'acme', ...root.get('decision_points').get('acme').settings(), timeoutMs: 20_000 };

/** The requirement of a new decision point. */
function requirementOf(url: string, other: Partial<DecisionPointSettings> = {}, route = askedRoute) {
  return new DecisionPoint({ ...acme, url, ...other }, 'http://gateway.test', Date.now, Math.random).requireOn(route);
}

test('R-336: one caller has at most 256 open questions, and leaves room for others', async () => {
  const pdp = await forThisTest(startPdp());
  const waiting: (() => void)[] = [];
  pdp.evaluation = (...asked) => void waiting.push(() => json(200, allows)(...asked));
  const requireOf = requirementOf(pdp.server.url);

  const alices = Array.from({ length: 256 }, async () => requireOf(askedCall, grantOf('alice')));
  await expect(requireOf(askedCall, grantOf('alice'))).rejects.toMatchObject({
    reason: 'decision_point.unavailable',
    detail: 'acme: too many questions are in flight',
    retryAfterSeconds: 1,
  });
  const bobs = requireOf(askedCall, grantOf('bob'));
  pdp.evaluation = json(200, allows);
  for (const answer of waiting) answer();
  await Promise.all([...alices, bobs]);
  await requireOf(askedCall, grantOf('alice'));
});

test('a decision point must allow each inner call too, and is asked once about equal ones', async () => {
  const pdp = await forThisTest(startPdp());
  const inner = { name: '/name', arguments: '/args' };
  const policy = compilePolicy('p', {
    tools: { call: { inner }, batch: { inner: { each: '/calls', ...inner } }, pay: {}, see: {} },
  });
  const route = { ...askedRoute, protocol: 'mcp', policy } as typeof askedRoute;
  const require = requirementOf(pdp.server.url, { arguments: true }, route);
  const see = { name: 'see', args: { a: 1 } };
  const args = { calls: [see, see, { name: 'pay', args: { b: 2 } }] };
  const grant = grantOf('alice');
  const body = Buffer.from(JSON.stringify({ params: { name: 'batch', arguments: args } }));
  const asked = { ...grant, action: { ...grant.action, attempt: call('batch', args), body } };
  await require(askedCall, asked);
  const questions = pdp.questions().map((each) => JSON.parse(each.body) as Record<string, Record<string, unknown>>);
  expect(questions.map(({ resource, context }) => [resource?.['id'], context?.['arguments']])).toEqual([
    ['batch', args],
    ['see', { a: 1 }],
    ['pay', { b: 2 }],
  ]);
  pdp.evaluation = (request, response, text) => {
    const answer = text.includes('"id":"pay"') ? '{"decision":false}' : allows;
    json(200, answer)(request, response, text);
  };
  await expect(require(askedCall, asked)).rejects.toMatchObject({
    reason: 'decision_point.denied',
    data: { tool: 'pay' },
  });
});

describe('no decision', () => {
  const pdp = startBeforeAll(startPdp);
  const unavailable = { reason: 'decision_point.unavailable' };
  const ask = async (other?: Partial<DecisionPointSettings>): Promise<unknown> =>
    requirementOf(`${pdp.server.url}/base`, other)(askedCall, grantOf('alice'));
  afterEach(() => {
    pdp.evaluation = json(200, allows);
    pdp.metadata = noMetadata;
    pdp.server.seen.length = 0;
  });

  test.for<readonly [string, boolean, RequestHandler]>([
    ['a big answer', false, json(200, `{"decision":true,"context":{"a":"${'x'.repeat(70_000)}"}}`)],
    ['a compressed answer', false, json(200, allows, { 'content-encoding': 'gzip' })],
    ['a 413', false, json(413, '')],
    ['a 503', true, json(503, '')],
    ['a connection that ends', true, (_request, response) => void response.destroy()],
  ])('%s stops the calls of others: %s', async ([, stops, handle]) => {
    const requireOf = requirementOf(`${pdp.server.url}/base`);
    pdp.evaluation = handle;
    for (let call = 0; call < 20; call += 1)
      await expect(requireOf(askedCall, grantOf('alice'))).rejects.toMatchObject(unavailable);
    pdp.evaluation = json(200, allows);
    const reason = await requireOf(askedCall, grantOf('bob')).then(
      () => undefined,
      (error: unknown) => (error instanceof Denial ? error.reason : error),
    );
    expect(reason).toBe(stops ? unavailable.reason : undefined);
  });

  test.for<readonly [string, RequestHandler, timeoutMs?: number]>([
    ['a 500', json(500, allows)],
    ['a 201', json(201, allows)],
    ['another media type', json(200, allows, { 'content-type': 'text/plain' })],
    ['garbage', json(200, 'true')],
    ['a list', json(200, `[${allows}]`)],
    ['nothing', json(200, '')],
    ['no decision', json(200, '{"Decision":true}')],
    ['two decisions', json(200, '{"decision":true,"decision":true}')],
    ['two decisions, one escaped', json(200, String.raw`{"decision":false,"d\u0065cision":true}`)],
    ['a decision in another case', json(200, '{"decision":true,"DECISION":false}')],
    ['a big answer', json(200, `{"decision":true,"context":{"a":"${'x'.repeat(70_000)}"}}`)],
    ['a compressed answer', json(200, allows, { 'content-encoding': 'gzip' })],
    ['a redirect', json(307, allows, { location: '/elsewhere' })],
    ['a connection that ends', (_request, response) => void response.destroy()],
    [
      'an answer that is cut off',
      (_request, response) =>
        void response.writeHead(200, { 'content-length': '100' }).write('{', () => response.destroy()),
    ],
    [
      'an answer that never ends',
      (_request, response) => void response.writeHead(200, { 'content-type': 'application/json' }).write('{'),
      1000,
    ],
  ])('R-336: is %s', async ([, handle, timeoutMs = 20_000]) => {
    pdp.evaluation = handle;
    await expect(ask({ timeoutMs })).rejects.toMatchObject(unavailable);
    // A connection that ends is tried again.
    expect(new Set(pdp.server.seen.map(({ url }) => url).slice(1))).toEqual(new Set(['/base/access/v1/evaluation']));
  });

  test('R-336: for one call stops no others', async () => {
    pdp.evaluation = json(400, '"bad"');
    const requireOf = requirementOf(pdp.server.url);
    for (let index = 0; index < 8; index += 1)
      await expect(requireOf(askedCall, grantOf('alice'))).rejects.toMatchObject(unavailable);
    expect(pdp.questions()).toHaveLength(8);
  });

  test.for<readonly [string, () => RequestHandler, timeoutMs?: number]>([
    ['of another decision point', () => metadataOf(pdp, { policy_decision_point: pdp.server.url })],
    ['of another origin', () => metadataOf(pdp, { access_evaluation_endpoint: 'http://127.0.0.1:1/ask' })],
    ['with a password', () => metadataOf(pdp, { access_evaluation_endpoint: pdp.server.url.replace('//', '//a:b@') })],
    ['without an endpoint', () => metadataOf(pdp, { access_evaluation_endpoint: undefined })],
    ['with an endpoint that is no URL', () => metadataOf(pdp, { access_evaluation_endpoint: '/ask' })],
    ['that are no JSON', () => json(200, '<html>')],
    ['behind a redirect', () => json(302, '', { location: '/metadata' })],
    ['with a 500', () => json(500, '{}')],
    ['that do not come', () => () => {}, 300],
  ])('R-337: comes by metadata %s', async ([, handle, timeoutMs = 20_000]) => {
    pdp.metadata = handle();
    await expect(ask({ timeoutMs })).rejects.toMatchObject(unavailable);
    expect(pdp.questions()).toEqual([]);
  });
});
