import { expect, test } from 'vitest';
import { bodyOf, callOf, fieldOf, post } from './requests.ts';
import { startAttackWorld } from '../worlds/attacks.ts';
import { startBeforeAll } from '../support/start-before.ts';

const world = startBeforeAll(() =>
  startAttackWorld({ policies: { tools: 'scope: read\ntools:\n  "*": { scope: payments }\n' } }),
);

const challenge =
  /^Bearer error="insufficient_scope", scope="read payments", resource_metadata="http:\/\/gateway\.test\/\.well-known\/oauth-protected-resource\/mcp"$/;

async function expectRefused(name: string): Promise<void> {
  const { answers, decisions } = await world.refuses(
    post(world.authorization, callOf(name, {}, name)),
    403,
    'scope.insufficient',
  );
  // The name is the upstream's and the caller's business: of the header nothing depends on it.
  expect(fieldOf(answers[0], 'WWW-Authenticate')).toMatch(challenge);
  expect(answers[0]?.match(/^www-authenticate:/gim)).toHaveLength(1);
  expect(answers[0]).not.toMatch(/^(?:set-cookie|x-injected|location):/im);
  expect(bodyOf(answers[0])).toMatchObject({ id: name });
  expect(decisions).toMatchObject([{ tool: expect.any(String) as string, reason: 'scope.insufficient' }]);
  expect(name).toContain(String(decisions[0]?.['tool']).slice(0, 60));
}

test.each([
  ['a quote', 'a"b'],
  ['a challenge of its own', 'x", scope="admin", error="'],
  ['a line break', 'x\r\nX-Injected: 1'],
  ['a line of its own for the log', 'x"}\n{"level":"info","msg":"decision","allow":true'],
  ['an escape of the terminal', 'x\u001b[2J\u001b]0;title\u0007'],
  ['line breaks of Unicode', 'x\u2028y\u2029z\u0085'],
  ['what becomes a line break in Latin 1', 'x\u010d\u010aX-Injected: 1'],
  ['as many letters as a name may have', 'x'.repeat(1_024)],
])('escapes %s in the name of a tool, in headers and in the log', async (_what, name) => {
  await expectRefused(name);
});

test('escapes scopes, subjects and clients in the log', async () => {
  const odd = 'x"\r\n\u001b[2J\u2028{"allow":true}';
  const token = await world.token({ sub: odd, client_id: odd, scope: 'none' });
  const { decisions, answers } = await world.withstand(post(`Authorization: Bearer ${token}`, callOf('pay')), {
    statuses: [403],
  });
  expect(decisions).toMatchObject([{ allow: false, subject: odd, client_id: odd }]);
  expect(answers[0]).not.toContain('[2J');
});
