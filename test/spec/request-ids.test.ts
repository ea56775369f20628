import { describe, expect, test } from 'vitest';
import { startBeforeAll } from '../support/start-before.ts';
import { startWorld, type World } from '../worlds/gateway.ts';

const [trusting, plain] = ['trusted_proxies: [127.0.0.0/8]', ''].map((top) =>
  startBeforeAll(() =>
    startWorld({
      top,
      routes: [
        'name: api, path: /api, audience: a, upstream: { url: "UPSTREAM" }',
        'name: public, path: /public, public: true, upstream: { url: "UPSTREAM" }',
      ],
      upstream: (_, response) => void response.writeHead(200, { 'x-request-id': 'of-the-upstream' }).end('{}'),
    }),
  ),
) as [World, World];

/** The ids in the answer, at the upstream and in the log, of a call with these fields. */
async function idsOf(world: World, ids: readonly string[], path = '/public'): Promise<Record<string, unknown>> {
  const fields = ids.map((id) => `X-Request-Id: ${id}`);
  const raw = await world.sendRaw(`GET ${path} HTTP/1.1`, 'Host: gateway.test', 'Connection: close', ...fields);
  const { request_id: logged, decision } = await world.gateway.decision();
  const answered = [...raw.matchAll(/^x-request-id: (.*)\r$/gim)].map(([, id]) => id);
  const upstream = path === '/public' ? world.upstream.seen.at(-1)?.headers['x-request-id'] : undefined;
  return { answered, upstream, logged, decision };
}

describe('X-Request-Id of a trusted proxy', () => {
  test.for(['a', 'trace-7f3a', `quo"te\\back`, '~'.repeat(128), '{"x":1}'])('R-349: %s is kept', async (id) => {
    expect(await idsOf(trusting, [id])).toMatchObject({ answered: [id], upstream: id, logged: id });
  });

  test('R-349: is the id of a refusal too, and not that of the decision', async () => {
    const { answered, logged, decision } = await idsOf(trusting, ['from-proxy'], '/api');
    expect([answered, logged]).toEqual([['from-proxy'], 'from-proxy']);
    expect(decision).not.toBe('from-proxy');
  });

  test.for([
    ['two', ['a', 'b']],
    ['two that are equal', ['a', 'a']],
    ['one of 129 characters', ['x'.repeat(129)]],
    ['one with a space', ['a b']],
    ['one with other characters than ASCII', ['é']],
    ['an empty one', ['']],
    ['none', []],
  ] as const)('R-27: the id of the decision takes the place of %s', async ([, ids]) => {
    const { answered, upstream, logged, decision } = await idsOf(trusting, ids);
    expect([answered, upstream, logged]).toEqual([[decision], decision, decision]);
  });
});

test('R-27: X-Request-Id of every other caller is replaced by the id of the decision', async () => {
  const { answered, upstream, logged, decision } = await idsOf(plain, ['forged']);
  expect([answered, upstream, logged]).toEqual([[decision], decision, decision]);
});
