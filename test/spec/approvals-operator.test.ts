/** What operators and their programs see of approvals: the admin listener, the command, and the hook. */
import { createHmac } from 'node:crypto';
import { join } from 'node:path';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { approvals } from '../../src/capabilities/approvals/approvals-command.ts';
import { kit } from '../../src/commands/commands.ts';
import { folderWith } from '../serve/config/folder.ts';
import { forThisTest, startBeforeAll } from '../support/start-before.ts';
import { startUpstream } from '../support/upstream.ts';
import { type Answer, startWorld } from '../worlds/gateway.ts';

const adminToken = 'Kx7-0123-of-the-operators';

test('R-332: the command says on standard error that no call waits', async () => {
  const world = await forThisTest(
    startWorld({
      admin: `{ listen: '127.0.0.1:0', token: '${adminToken}' }`,
      top: 'approvals: { authorization_servers: [main] }',
      routes: ['name: tools, path: /mcp, protocol: mcp, policy: tools, upstream: { url: "UPSTREAM/mcp" }'],
      policies: { tools: 'tools: { pay: { approval: { by: { claims: { role: boss } } } } }' },
    }),
  );
  const stdout = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  const stderr = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  vi.stubEnv('SALLYPORT_ADMIN_TOKEN', adminToken);
  try {
    const options = { config: 'gateway.yaml', follow: false, json: true, admin: world.gateway.adminUrl };
    expect(await approvals({}, options, kit)).toBe(0);
    expect(stdout).not.toHaveBeenCalled();
    expect(stderr).toHaveBeenCalledExactlyOnceWith('no call waits for a decision\n');
  } finally {
    vi.unstubAllEnvs();
    stdout.mockRestore();
    stderr.mockRestore();
  }
});

describe('operators', () => {
  const hook = startBeforeAll(() =>
    startUpstream((_request, response) => void response.writeHead(hook.seen.length === 1 ? 503 : 204).end()),
  );
  /** What arrived after the first try, which failed. */
  const told = () => hook.seen.slice(1);
  const world = startBeforeAll(() =>
    startWorld({
      admin: `{ listen: '127.0.0.1:0', token: '${adminToken}' }`,
      top: `approvals: { authorization_servers: [main], notify: { url: '${hook.url}/hook', secret: 'of-the-hook' } }`,
      routes: ['name: tools, path: /mcp, protocol: mcp, query: pass, policy: tools, upstream: { url: "UPSTREAM/mcp" }'],
      policies: { tools: 'tools: { pay: { approval: { by: { claims: { role: boss } }, shows: [/amount] } } }' },
      claims: { aud: 'http://gateway.test/mcp', client_id: 'agent' },
    }),
  );
  /** The folder of a configuration that names the token of the admin listener. */
  let folder: string;
  beforeAll(async () => {
    folder = await folderWith({
      yaml: `public_url: http://gateway.test\nadmin: { listen: '127.0.0.1:1', token: '${adminToken}' }\nroutes: [{ name: tools, path: /, public: true, upstream: { url: 'http://127.0.0.1:9' } }]\n`,
    });
  });

  const pay = async (amount: number | string, target = '/mcp') =>
    world.post(
      target,
      await world.token(),
      `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"pay","arguments":{"amount":${amount},"pin":"of-alice"}}}`,
    );
  const idOf = ({ text }: Answer): string =>
    (JSON.parse(text) as { error: { data: { approval: { id: string } } } }).error.data.approval.id;
  const admin = async (path: string, init: Pick<RequestInit, 'method' | 'body'> = {}): Promise<Response> =>
    fetch(world.gateway.adminUrl + path, { ...init, headers: { authorization: `Bearer ${adminToken}` } });
  const decide = async (id: string, decision: string): Promise<Response> =>
    admin(`/approvals/${id}`, { method: 'POST', body: JSON.stringify({ decision }) });

  test('R-331: see and decide requests with the token, on loopback too', async () => {
    const id = idOf(await pay(10));
    expect((await fetch(`${world.gateway.adminUrl}/approvals`)).status).toBe(401);
    const unsigned = { method: 'POST', body: '{"decision":"approve"}' };
    expect((await fetch(`${world.gateway.adminUrl}/approvals/${id}`, unsigned)).status).toBe(401);
    expect(await (await admin('/approvals')).json()).toMatchObject({
      approvals: expect.arrayContaining([
        expect.objectContaining({
          id,
          status: 'pending',
          call: { route: 'tools', method: 'tools/call', name: 'pay', hidden: 1 },
        }),
      ]),
    });
    expect(await (await admin(`/approvals/${id}`)).json()).toMatchObject({
      id,
      call: { name: 'pay', arguments: { amount: 10 }, hidden: 1 },
    });
    expect((await admin('/approvals/unknown')).status).toBe(404);
    expect((await decide(id, 'perhaps')).status).toBe(400);
    expect((await decide(id, `approve${' '.repeat(2_000)}`)).status).toBe(413);
    expect((await admin(`/approvals/${id}`, { method: 'DELETE' })).status).toBe(405);
    expect((await admin('/approvals', { method: 'POST' })).status).toBe(405);
    expect((await decide('unknown', 'approve')).status).toBe(404);
    expect((await decide(id, 'approve')).status).toBe(200);
    expect((await decide(id, 'deny')).status).toBe(409);
    expect((await pay(10)).status).toBe(200);
    await world.gateway.line({ msg: 'approval', event: 'approved', approval: id, by: 'operator' });
  });

  test('R-332: use the command, which shows digits as they are and commands of a terminal as text', async () => {
    const id = idOf(await pay('[9007199254740993,"\\u001b[2J\\u009b2J\\u202e"]'));
    const options = { config: join(folder, 'gateway.yaml'), follow: false, json: false, admin: world.gateway.adminUrl };
    let shown = '';
    const stdout = vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
      shown += String(text);
      return true;
    });
    const run = async (...[asked, more]: readonly [Parameters<typeof approvals>[0], typeof options]) => {
      shown = '';
      return { code: await approvals(asked, more, kit), shown };
    };
    try {
      const listed = await run({}, options);
      expect(listed).toMatchObject({ code: 0 });
      expect(listed.shown).toMatch(
        new RegExp(
          `^${id}  pending  tools  pay  {"amount":\\[9007199254740993,.+\\]}  and 1 more: {"arguments":{"pin":"of-alice"}}  by alice with agent  until 2`,
          'm',
        ),
      );
      expect(listed.shown).not.toContain('\u001b');
      const elsewhere = idOf(await pay(40, '/mcp?account=2'));
      const place = `^${elsewhere}  pending  tools  pay  at /mcp\\?account=2  {"amount":40}  `;
      expect((await run({}, options)).shown).toMatch(new RegExp(place, 'm'));
      const json = (await run({}, { ...options, json: true })).shown;
      expect(json).toContain('[9007199254740993,"\\u001b[2J\\u009b2J\\u202e"]');
      expect(json).not.toMatch(/[\u007f-\u009f\u202e]/);
      expect(await run({ decision: 'deny', id }, options)).toMatchObject({
        code: 0,
        shown: expect.stringMatching(`^${id}  denied  `),
      });
      expect((await pay('[9007199254740993,"\\u001b[2J\\u009b2J\\u202e"]')).status).toBe(403);
      expect(await run({ decision: 'withdraw', id }, options)).toMatchObject({ code: 0 });
      await expect(run({ decision: 'approve', id }, options)).rejects.toThrow('answers 410');
      await expect(run({ decision: 'approve', id: 'other' }, options)).rejects.toThrow('answers 404: no such request');
      await expect(run({ decision: 'approve' }, options)).rejects.toThrow('needs the id of a request');
      await expect(run({ decision: 'approve', id: '../x' }, options)).rejects.toThrow('needs the id of a request');
    } finally {
      stdout.mockRestore();
    }
  });

  test('R-333: get signed messages at the hook, again after a failure, with what `shows` allows alone', async () => {
    const id = idOf(await pay(30));
    await decide(id, 'deny');
    const of = (event: string) => told().find(({ body }) => body.includes(id) && body.includes(`"event":"${event}"`));
    await expect.poll(() => of('requested') && of('denied')).toBeDefined();
    const message = of('requested');
    const [, seconds = '', mac] =
      /^t=(\d+),v1=([0-9a-f]{64})$/.exec(String(message?.headers['sallyport-signature'])) ?? [];
    expect(mac).toBe(createHmac('sha256', 'of-the-hook').update(`${seconds}.${message?.body}`).digest('hex'));
    expect(JSON.parse(message?.body ?? '')).toMatchObject({
      event: 'requested',
      url: `http://gateway.test/approvals/${id}`,
      approval: { id, call: { name: 'pay', arguments: { amount: 30 }, hidden: 1 }, caller: { subject: 'alice' } },
    });
    for (const { body } of told()) expect(body).not.toContain('of-alice');
  });

  test('R-332: read in lines that the gateway has no token, which a loopback address does not replace', async () => {
    const open = await forThisTest(
      startWorld({ routes: ['name: x, path: /, public: true, upstream: { url: UPSTREAM }'] }),
    );
    const options = { config: join(folder, 'gateway.yaml'), follow: false, json: false, admin: open.gateway.adminUrl };
    const why = await approvals({}, options, kit).then(() => '', String);
    expect(why).toContain('the running gateway has no admin.token.\n\nSet it in gateway.yaml');
    expect(why).toContain('restart serve');
    expect(why).not.toContain('listen:');
    expect(why).not.toMatch(/\ufffd|loopback/);
  });
});
