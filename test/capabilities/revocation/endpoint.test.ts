import { describe, expect, test } from 'vitest';
import { inFolder } from '../../serve/config/folder.ts';
import { outcome } from '../../commands/run.ts';
import { sample, startTestGateway } from '../../support/gateway.ts';
import { forThisTest, startBeforeAll } from '../../support/start-before.ts';
import { startRevocationWorld } from '../../worlds/revocation.ts';

const adminToken = 'Kx7-0123-of-the-operators';
const admin = `{ listen: '127.0.0.1:0', token: ${adminToken} }`;
const world = startBeforeAll(() =>
  startRevocationWorld({
    revocation: '  endpoint: { path: /revoke-subject, authorization_servers: [main], scope: revoke, subjects: main }',
    admin,
  }),
);
/** What a gateway needs besides. */
const plain = `authorization_servers: { main: { issuer: 'https://as.example', jwt: { algorithms: [RS256] } } }
routes: [{ name: api, path: /api, audience: a, upstream: { url: 'http://127.0.0.1:1' } }]
`;

const api = async (token: string): Promise<number> => (await world.send('/api', { token })).status;
const caller = (claims = {}) => {
  const audience = 'http://gateway.test/revoke-subject';
  return world.token({ sub: 'workflow', client_id: 'workflow', aud: audience, scope: 'revoke', ...claims });
};
const call = (body: string, token: string | undefined, type = 'application/json') =>
  world.post('/revoke-subject', token, body, { 'content-type': type });

describe('R-322: global token revocation', () => {
  test('answers 204, and ends the rights of the subject at once', async () => {
    const token = await world.token({ sub: 'carol' });
    const { over } = await world.stream(token);
    const answer = await call(JSON.stringify({ sub_id: world.person('carol') }), await caller());
    expect([answer.status, answer.text]).toEqual([204, '']);
    expect(await api(token)).toBe(401);
    expect(await over).toBe('end');
    await world.gateway.line({
      msg: 'revocation',
      source: 'endpoint',
      subject: 'carol',
      result: 'kept',
      by: 'workflow',
    });
    const kept = 'sallyport_revocations_total{source="endpoint",event="endpoint",result="kept"}';
    expect(await sample(world.gateway, kept)).toBeGreaterThan(0);
  });

  test('answers 204 for a subject that it has never seen', async () => {
    expect((await call('{"sub_id":{"format":"email","email":"nobody@example.com"}}', await caller())).status).toBe(204);
  });

  test.each([
    ['no JSON', '{', 400],
    ['a list', '[]', 400],
    ['no subject', '{}', 400],
    ['a subject that is a text', '{"sub_id":"alice"}', 400],
    ['a subject without members', '{"sub_id":{"format":"iss_sub"}}', 400],
    ['a format that is not understood', '{"sub_id":{"format":"phone_number","phone_number":"+1"}}', 422],
    [
      'a person of an issuer that it may not revoke',
      '{"sub_id":{"format":"iss_sub","iss":"https://second.example","sub":"x"}}',
      403,
    ],
    ['more than 64 KiB', `{"sub_id":"${'x'.repeat(70_000)}"}`, 413],
  ])('refuses %s', async (_, body, status) => {
    expect((await call(body, await caller())).status).toBe(status);
  });

  test.each([
    ['without a token', undefined, 401],
    ['with a token of another audience', { aud: 'a' }, 401],
    ['with a token without the scope', { scope: 'read' }, 403],
  ])('%s it is a protected resource', async (_, claims, status) => {
    const token = await world.token({ sub: 'dave' });
    const answer = await call(JSON.stringify({ sub_id: world.person('dave') }), claims && (await caller(claims)));
    expect(answer.status).toBe(status);
    expect(await api(token)).toBe(200);
  });

  test('takes POST with JSON alone', async () => {
    expect((await world.send('/revoke-subject', { token: await caller() })).status).toBe(405);
    expect((await call('{}', await caller(), 'text/plain')).status).toBe(400);
  });
});

describe('sallyport revoke', () => {
  const run = (args: readonly string[], token: string | null = adminToken) =>
    inFolder({ yaml: `public_url: http://gateway.test\n${plain}`, files: {} }, (folder) =>
      outcome(['revoke', '--admin', world.gateway.adminUrl, ...args], folder, {
        env: token === null ? {} : { SALLYPORT_ADMIN_TOKEN: token },
      }),
    );

  test('ends the rights of a person, and lists what is kept', async () => {
    const token = await world.token({ sub: 'erin' });
    const result = await run(['--subject', 'erin', '--issuer', world.issuer.url, '--yes']);
    const kept =
      /^kept: tokens of the subject erin that were issued until 20\S+Z are refused, and their streams end\nto withdraw it: sallyport revoke --lift [\w-]{22}\n$/;
    expect(result).toEqual({ code: 0, stdout: expect.stringMatching(kept) as string, stderr: '' });
    expect(await api(token)).toBe(401);
    const { code, stdout } = await run(['--list']);
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^\{.*"subject":"erin".*\}$/m)]);
  });

  test('ends a client, and withdraws that by its id', async () => {
    const token = await world.token({ sub: 'ivan', client_id: 'agent-7' });
    const result = await run(['--client', 'agent-7', '--issuer', world.issuer.url, '--yes']);
    expect(result.stdout).toContain('kept: tokens of the client agent-7 that were issued until');
    expect(result).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('end the agent at its authorization server too') as string,
    });
    expect(await api(token)).toBe(401);
    expect(await world.gateway.decision({ reason: 'token.revoked' })).toMatchObject({
      detail: expect.stringMatching(
        /^tokens of the client "agent-7" \(of "ivan"\) issued until 20\S+Z are rev/,
      ) as string,
    });
    const [, id = ''] = /--lift ([\w-]{22})\n/.exec(result.stdout) ?? [];
    expect((await run(['--list'])).stdout).toMatch(new RegExp(`^\\{"id":"${id}".*"client":"agent-7".*"at":`, 'm'));
    expect(await run(['--lift', id])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('not lifted') as string,
    });
    expect(await api(token)).toBe(401);
    expect(await run(['--lift', id, '--yes'])).toMatchObject({ code: 0 });
    expect(await api(token)).toBe(200);
    expect((await run(['--list'])).stdout).not.toContain(id);
    await world.gateway.line({ msg: 'revocation', event: 'lift', result: 'kept', id, client: 'agent-7' });
    const again = await run(['--lift', id, '--yes']);
    expect(again).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('answers 422: Not lifted: no rev') as string,
    });
  });

  test('ends an actor anywhere in a chain, also one of an issuer without tokens here', async () => {
    const elsewhere = 'https://agents.example';
    const token = await world.token({ sub: 'judy', act: { sub: 'outer', act: { sub: 'bot', iss: elsewhere } } });
    expect(await api(token)).toBe(200);
    const result = await run(['--actor', 'bot', '--issuer', elsewhere, '--yes']);
    expect(result.stdout).toContain('kept: tokens with the actor bot that');
    expect(result.stdout).toContain(`no authorization server here is ${elsewhere}`);
    expect(await api(token)).toBe(401);
    expect(await world.gateway.decision({ reason: 'token.revoked' })).toMatchObject({
      detail: expect.stringMatching(/^tokens with the actor "bot" \(of "judy"\) issued until/) as string,
    });
  });

  test('ends the rights of an address', async () => {
    const token = await world.token({ sub: 'frank', email: 'frank@example.com' });
    const result = await run(['--email', 'Frank@example.com', '--yes']);
    expect(result.stdout).toContain('kept: tokens with the address Frank@example.com that');
    expect(result).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('tokens without a verified claim email are not found by it') as string,
    });
    expect(await api(token)).toBe(401);
  });

  test('reads no file where it has the address and the token', async () => {
    const token = await world.token({ sub: 'heidi' });
    const args = ['--subject', 'heidi', '--issuer', world.issuer.url, '--yes', '--config', 'no-such-file.yaml'];
    expect(await run(args)).toMatchObject({ code: 0 });
    expect(await api(token)).toBe(401);
  });

  test('lists names that a transmitter chose without what a terminal obeys', async () => {
    const name = '\u009b31m\u202eevil\u007f';
    await run(['--subject', name, '--issuer', world.issuer.url, '--yes']);
    const { stdout } = await run(['--list']);
    expect(stdout).toContain('"\\u009b31m\\u202eevil\\u007f"');
    expect(stdout).not.toMatch(/[\u007f-\u009f\u202e]/);
  });

  test('says what to do where no gateway answers', async () => {
    const { code, stderr } = await outcome(['revoke', '--list', '--admin', 'http://127.0.0.1:9'], undefined, {
      env: { SALLYPORT_ADMIN_TOKEN: adminToken },
    });
    expect(code).toBe(1);
    expect(stderr).toMatch(/does not answer: .*: start the gateway, or name it by --admin URL\n$/);
  });

  test('asks first: without a terminal it needs --yes', async () => {
    const token = await world.token({ sub: 'grace' });
    const result = await run(['--subject', 'grace', '--issuer', world.issuer.url]);
    expect(result).toMatchObject({ code: 1, stderr: 'sallyport revoke: not revoked: answer y, or write --yes\n' });
    expect(await api(token)).toBe(200);
  });

  test.each([
    [['--subject', 'a']],
    [['--issuer', 'a']],
    [['--subject', 'a', '--issuer', 'b', '--email', 'c@d']],
    [['--list', '--email', 'c@d']],
    [['--list', '--lift', 'a']],
    [['--lift', 'a', '--issuer', 'b']],
    [['--client', 'a']],
    [['--actor', 'a', '--client', 'b', '--issuer', 'c']],
    [['--actor', 'a', '--subject', 'b', '--issuer', 'c']],
    [[]],
  ])('%j is wrong usage', async (args) => {
    expect((await run(args)).code).toBe(2);
  });

  test('says that an issuer is unknown', async () => {
    const result = await run(['--subject', 'a', '--issuer', 'https://other.example', '--yes']);
    expect(result).toMatchObject({ code: 1 });
    expect(result.stderr).toContain('answers 422: Not revoked: the issuer "https://other.example"');
    expect(result.stderr).toContain(` is none of this gateway, which has ${JSON.stringify(world.issuer.url)}`);
    expect(result.stderr).not.toContain('the source');
  });

  test('R-323: needs the admin token on loopback too', async () => {
    expect((await run(['--list'], 'wrong-token-of-somebody')).stderr).toContain('answers 401');
    expect((await run(['--list'], null)).stderr).toContain(
      'there is no admin token: set admin.token in gateway.yaml, or SALLYPORT_ADMIN_TOKEN; the gateway and this command',
    );
    for (const method of ['GET', 'POST']) {
      expect((await fetch(`${world.gateway.adminUrl}/revocations`, { method })).status).toBe(401);
    }
    const byId = `${world.gateway.adminUrl}/revocations/x`;
    expect((await fetch(byId, { method: 'DELETE' })).status).toBe(401);
  });
});

test.each([
  ['an admin token', '127.0.0.1:0', 403, /the running gateway has no admin\.token/],
  [
    'revocation',
    admin,
    404,
    /^The gateway has no `revocation`: add `revocation: \{\}` to gateway\.yaml, and restart it\.\n$/,
  ],
])('a gateway without %s says so', async (_what, listener, status, text) => {
  const { adminUrl } = await forThisTest(startTestGateway({ yaml: plain, admin: listener }));
  const answer = await fetch(`${adminUrl}/revocations`, { headers: { authorization: `Bearer ${adminToken}` } });
  expect([answer.status, await answer.text()]).toEqual([status, expect.stringMatching(text)]);
});
