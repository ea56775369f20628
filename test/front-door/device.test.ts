/** The device grant, RFC 8628: a person types the code of a device in a browser elsewhere. */
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { type Browser, createBrowser } from '../../demo/browser.ts';
import { saveDevice } from '../../src/front-door/devices.ts';
import { startFrontDoor } from '../../src/front-door/front-door.ts';
import { createMemoryStore } from '../../src/front-door/memory-store.ts';
import { openStore } from '../../src/capabilities/all.ts';
import { hasRedis, startRedis } from '../support/redis.ts';
import { keepSecret } from '../support/secrecy.ts';
import { forThisTest, startBeforeAll } from '../support/start-before.ts';
import { type FrontDoorWorld, observerInto, startFrontDoorWorld } from '../worlds/front-door.ts';
import { oauthClient, register } from '../worlds/oauth-client.ts';

const grant = 'urn:ietf:params:oauth:grant-type:device_code';
const secret = 'the-secret-of-the-console';
keepSecret(secret);
const frontDoor = `clients:
    refresh: true
    registration: { redirect_uris: ["http://127.0.0.1:*/**"], device: true }
    registered:
      tv: { name: TV, grants: [device_code, refresh_token] }
      other: { name: Other, grants: [device_code], client_secret: ${secret} }
      web: { name: Web, redirect_uris: ["http://127.0.0.1:*/callback"] }`;
const options = { frontDoor, top: 'revocation: {}' };
let ahead = 0;
let hop = 0;
const world = startBeforeAll(() => startFrontDoorWorld({ ...options, clock: () => Date.now() + ahead }));
beforeEach(() => {
  ahead = 0;
  hop += 1;
  (world.observed as string[]).splice(0);
  world.provider.person = { sub: `person-${hop}` };
});

type At = Pick<FrontDoorWorld, 'issuer'>;
/** An address of its own for each test, as a proxy on this machine reports it. */
const from = (address = `203.0.113.${hop}`) => ({ 'x-forwarded-for': address });

interface DeviceAnswer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
  readonly retryAfter: string | null;
}
async function post(at: At, path: string, form: Record<string, string>, headers: Record<string, string> = from()) {
  const response = await fetch(at.issuer + path, { method: 'POST', headers, body: new URLSearchParams(form) });
  const body = (await response.json()) as Record<string, unknown>;
  return { status: response.status, body, retryAfter: response.headers.get('retry-after') } satisfies DeviceAnswer;
}
const begin = async (form: Record<string, string> = {}, at: At = world) =>
  post(at, '/device/authorization', { client_id: 'tv', scope: 'read', ...form });
const poll = async (device: DeviceAnswer, form: Record<string, string> = {}, at: At = world) =>
  post(at, '/token', { grant_type: grant, client_id: 'tv', device_code: String(device.body['device_code']), ...form });
const codeOf = ({ body }: DeviceAnswer) => String(body['user_code']);
const paused = () => void (ahead += 6_000);

/** A person with a browser, at the page of codes. */
class Person {
  readonly browser: Browser = createBrowser();
  readonly #at: At;
  readonly #headers: Record<string, string>;
  #shown = '';
  html = '';
  status = 0;
  retryAfter: string | null = null;
  /** The content security policy of each page that was shown. */
  readonly policies: (string | null)[] = [];

  constructor(at: At = world, address?: string) {
    this.#at = at;
    this.#headers = from(address);
  }

  async open(query = ''): Promise<this> {
    return this.#fetch(`${this.#at.issuer}/device${query}`);
  }
  /** Types a code, and sees its question. */
  async type(code: string): Promise<this> {
    if (!this.html.includes('name="xsrf"')) await this.open();
    return this.#fetch(`${this.#at.issuer}/device`, { user_code: code });
  }
  /** Answers the question of a code. */
  async answer(code: string, decision: 'confirm' | 'abort' = 'confirm'): Promise<this> {
    return this.#fetch(`${this.#at.issuer}/device`, { user_code: code, [decision]: 'yes' });
  }

  /** Answers the page of the sign-in that is shown now. */
  async submit(form: Record<string, string>): Promise<this> {
    return this.#fetch(this.#shown, form);
  }

  async #fetch(start: string, form?: Record<string, string>): Promise<this> {
    let url = new URL(start);
    const xsrf = /name="xsrf" value="([^"]*)"/.exec(this.html)?.[1] ?? '';
    let body = form && new URLSearchParams({ xsrf, ...form });
    for (let step = 0; step < 12; step += 1) {
      const response = await this.browser.fetch(url, this.#headers, body);
      this.html = await response.text();
      this.status = response.status;
      this.retryAfter = response.headers.get('retry-after');
      const next =
        response.headers.get('location') ??
        /http-equiv="refresh" content="0; url=([^"]*)"/.exec(this.html)?.[1]?.replaceAll('&amp;', '&');
      if (next === undefined) {
        this.#shown = url.href;
        this.policies.push(response.headers.get('content-security-policy'));
        return this;
      }
      url = new URL(next, url);
      body = undefined;
    }
    throw new Error('too many redirects');
  }
}

/** Approves a device on the page, as a person does. */
async function approve(device: DeviceAnswer, at: At = world): Promise<Person> {
  const person = await new Person(at).type(codeOf(device));
  return person.answer(codeOf(device));
}

describe('a device', () => {
  test('gets a code, and a token once a person has approved it, by which it calls', async () => {
    const device = await begin({ resource: world.mcpUrl.href });
    expect(device).toMatchObject({
      status: 200,
      body: {
        device_code: expect.any(String),
        user_code: expect.stringMatching(/^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/),
        verification_uri: `${world.issuer}/device`,
        verification_uri_complete: `${world.issuer}/device?user_code=${codeOf(device)}`,
        expires_in: 600,
        interval: 5,
      },
    });
    expect((await poll(device)).body).toMatchObject({ error: 'authorization_pending' });
    const person = await approve(device);
    expect(person.html).toContain('Your device is connected');
    paused();
    const { status, body } = await poll(device, { resource: world.mcpUrl.href });
    expect({ status, body }).toMatchObject({ status: 200, body: { token_type: 'Bearer', scope: 'read' } });
    expect(body['refresh_token']).toEqual(expect.any(String));
    expect(await world.listTools(body['access_token'])).toBe(200);
    expect(await world.decision()).toMatchObject({ allow: true, client_id: 'tv', issuer: world.issuer });
    expect(world.observed).toEqual([
      `token ${grant} authorization_pending`,
      'consent approved',
      expect.stringContaining('sign-in corporate ok'),
      `token ${grant} ok`,
    ]);
    paused();
    expect((await poll(device)).body, 'a code is used once').toMatchObject({ error: 'invalid_grant' });
    const refreshed = await post(world, '/token', {
      grant_type: 'refresh_token',
      client_id: 'tv',
      refresh_token: String(body['refresh_token']),
    });
    expect(refreshed.status).toBe(200);
  });

  test.each([
    ['a scope that does not exist', { scope: 'unknown' }, 'invalid_scope'],
    ['another resource', { resource: 'https://other.example/mcp' }, 'invalid_target'],
    ['a client without the grant', { client_id: 'web' }, 'invalid_request'],
    ['an unknown client', { client_id: 'nobody' }, 'invalid_client'],
    ['a client that does not authenticate', { client_id: 'other' }, 'invalid_client'],
  ])('is refused at once for %s', async (_title, form, error) => {
    expect((await begin(form as unknown as Record<string, string>)).body).toMatchObject({ error });
    expect(world.observed).toEqual([expect.stringMatching(new RegExp(`^token ${grant} ${error} \\w+`))]);
  });

  test('without scope and resource asks for what the policy asks of every caller', async () => {
    const device = await post(world, '/device/authorization', { client_id: 'tv' });
    await approve(device);
    expect((await poll(device)).body).toMatchObject({ scope: 'read' });
  });

  test('may only repeat its resource, and then still has its code', async () => {
    const device = await begin();
    await approve(device);
    expect((await poll(device, { resource: 'https://other.example/mcp' })).body).toMatchObject({
      error: 'invalid_target',
    });
    paused();
    expect((await poll(device)).status).toBe(200);
  });

  test('waits between polls, also after an answer that told it to', async () => {
    const device = await begin();
    const errorOf = async () => (await poll(device)).body['error'];
    expect(await errorOf()).toBe('authorization_pending');
    ahead += 4_000;
    expect(await errorOf()).toBe('slow_down');
    ahead += 4_000;
    expect(await errorOf(), 'after the last poll, not the first').toBe('slow_down');
    ahead += 5_001;
    expect(await errorOf()).toBe('authorization_pending');
  });

  test('learns that the person denied it, once', async () => {
    const device = await begin();
    const person = await new Person().type(codeOf(device));
    expect((await person.answer(codeOf(device), 'abort')).html).toContain('Access was denied');
    expect((await poll(device)).body).toMatchObject({ error: 'access_denied' });
    expect(world.observed).toContain('consent denied');
    expect((await new Person().type(codeOf(device))).html).toContain('This code is wrong');
  });

  test.each([false, true])('learns for a minute that its code has expired, approved: %s', async (isApproved) => {
    const device = await begin();
    if (isApproved) await approve(device);
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 600_500 });
    try {
      expect((await poll(device)).body).toMatchObject({ error: 'expired_token' });
      vi.setSystemTime(Date.now() + 60_000);
      expect((await poll(device)).body).toMatchObject({ error: 'expired_token' });
      expect((await new Person().type(codeOf(device))).html).toContain('This code is wrong');
    } finally {
      vi.useRealTimers();
    }
  });

  test('of another client gets nothing by the code', async () => {
    const device = await begin();
    await approve(device);
    const other = oauthClient(world.issuer, 'other', undefined, { client_secret: secret });
    const { body } = await other.post({ grant_type: grant, device_code: String(device.body['device_code']) });
    expect(body).toMatchObject({ error: 'invalid_grant' });
  });

  test('has a code of 43 characters, and gets nothing by one that is made up', async () => {
    const device = await begin();
    expect(device.body['device_code']).toMatch(/^[\w-]{43}$/);
    await approve(device);
    const guessed = { body: { device_code: `${String(device.body['device_code']).slice(0, -1)}~` } };
    expect(await poll({ ...device, ...guessed })).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
    expect((await poll(device)).status, 'a guess of another party does not use it up').toBe(200);
  });

  test('loses its token when an operator ends the person', async () => {
    world.provider.person = { sub: `revoked-${hop}` };
    const device = await begin();
    await approve(device);
    const { body } = await poll(device);
    expect(await world.listTools(body['access_token'])).toBe(200);
    await world.gateway.kept?.revoke({ issuer: world.provider.issuer, subject: `revoked-${hop}` });
    expect(await world.listTools(body['access_token'])).toBe(401);
  });
});

describe('a client that registers itself', () => {
  test('has the grant only if it lists it, and then needs no redirect URI', async () => {
    const device = await register(world.issuer, { redirect_uris: undefined, grant_types: [grant, 'refresh_token'] });
    expect(device.body).toMatchObject({ grant_types: ['refresh_token', grant], redirect_uris: [], response_types: [] });
    expect((await begin({ client_id: String(device.body['client_id']) })).status).toBe(200);
    const both = await register(world.issuer, { grant_types: [grant, 'authorization_code'] });
    expect(both.body).toMatchObject({ grant_types: ['authorization_code', grant] });
    const plain = await register(world.issuer, {});
    expect((await begin({ client_id: String(plain.body['client_id']) })).body).toMatchObject({
      error: 'invalid_request',
    });
    expect((await register(world.issuer, { redirect_uris: undefined })).status).toBe(400);
  });

  test('has no such grant where the operator did not open it', async () => {
    const own = await forThisTest(
      startFrontDoorWorld({ frontDoor: 'clients: { registration: { redirect_uris: ["http://127.0.0.1:*/**"] } }' }),
    );
    expect((await register(own.issuer, { redirect_uris: undefined, grant_types: [grant] })).status).toBe(400);
    const metadata = (await (await fetch(`${own.issuer}/.well-known/oauth-authorization-server`)).json()) as object;
    expect(metadata).not.toHaveProperty('device_authorization_endpoint');
    const paths = ['/device', '/device/authorization', '/device/abc'];
    const answers = await Promise.all(paths.map(async (path) => fetch(own.issuer + path)));
    expect(answers.map(({ status }) => status)).toEqual([404, 404, 404]);
  });

  test('finds the endpoint in the metadata', async () => {
    const metadata = await (await fetch(`${world.issuer}/.well-known/oauth-authorization-server`)).json();
    expect(metadata).toMatchObject({
      device_authorization_endpoint: `${world.issuer}/device/authorization`,
      grant_types_supported: expect.arrayContaining([grant]),
    });
  });
});

describe('the page', () => {
  test('says which client asks, what for, from where, and to go on only if the person started it', async () => {
    const device = await begin({ scope: 'read payments' });
    const { html } = await new Person().type(codeOf(device));
    for (const text of [
      'Allow TV to act for you?',
      'Read accounts',
      'Move money',
      codeOf(device),
      from()['x-forwarded-for'],
    ])
      expect(html).toContain(text);
    expect(html).toMatch(/(just now|ago), from the address/);
    expect(html).toContain('Code, which your device must show');
    expect(html).toContain('Go on only if you started this yourself');
    expect(html).toContain('registered this client');
    const { body } = await register(world.issuer, {
      client_name: 'Bank',
      redirect_uris: undefined,
      grant_types: [grant],
    });
    const unverified = await begin({ client_id: String(body['client_id']) });
    expect((await new Person().type(codeOf(unverified))).html).toContain('It is not verified');
  });

  test('takes a code in any case, with blanks or dashes', async () => {
    const device = await begin();
    const typed = codeOf(device).toLowerCase().replace('-', ' - ');
    expect((await new Person().type(` ${typed}`)).html).toContain('Allow TV');
  });

  test('fills in the code of a link, and a GET neither tells whether there is one nor approves', async () => {
    const device = await begin();
    const shown = async (code: string) =>
      (await new Person().open(`?user_code=${code}&confirm=yes`)).html
        .replaceAll(code, 'CODE')
        .replace(/value="[0-9a-f]{48}"/, '');
    expect(await shown(codeOf(device))).toContain('value="CODE"');
    expect(await shown(codeOf(device))).toBe(await shown('BBBB-BBBB'));
    expect((await poll(device)).body).toMatchObject({ error: 'authorization_pending' });
    const odd = await new Person().open('?user_code=%22%3E%3Cscript%3E');
    expect(odd.html).not.toContain('<script>');
  });

  test('asks each time, whatever the person allowed before', async () => {
    const person = new Person();
    for (let count = 0; count < 2; count += 1) {
      const device = await begin();
      await person.open();
      expect((await person.type(codeOf(device))).html).toContain('Allow TV');
      expect((await poll(device)).body).toMatchObject({ error: 'authorization_pending' });
      expect((await person.answer(codeOf(device))).html).toContain('Your device is connected');
    }
  });

  test('cannot be framed, runs no script, and shows a name as text', async () => {
    const name = '<img src=x onerror=alert(1)>"\u202e';
    const { body } = await register(world.issuer, {
      client_name: name,
      redirect_uris: undefined,
      grant_types: [grant],
    });
    const device = await begin({ client_id: String(body['client_id']) });
    const person = new Person();
    const shown = [
      await person.open(),
      await person.type(codeOf(device)),
      await person.answer(codeOf(device), 'abort'),
    ];
    expect(shown).toHaveLength(3);
    expect(person.policies).toHaveLength(3);
    for (const policy of person.policies) {
      expect(policy).toContain("default-src 'none'");
      expect(policy).toContain("frame-ancestors 'none'");
      expect(policy).not.toContain('script-src');
    }
    await person.open();
    const { html } = await person.type(codeOf(await begin({ client_id: String(body['client_id']) })));
    expect(html).toContain('Allow &lt;img src=x onerror=alert(1)&gt;&quot; to act for you?');
  });

  test('requires its own form: another site, and a browser without the page, approve nothing', async () => {
    const device = await begin();
    const person = await new Person().type(codeOf(device));
    const xsrf = /name="xsrf" value="([^"]*)"/.exec(person.html)?.[1] ?? '';
    const url = new URL(`${world.issuer}/device`);
    const attempts: readonly (readonly [Browser, string, Record<string, string>])[] = [
      [person.browser, xsrf, { origin: 'https://evil.example' }],
      [person.browser, xsrf, { 'sec-fetch-site': 'cross-site' }],
      [person.browser, 'guessed', {}],
      [createBrowser(), xsrf, {}],
    ];
    for (const [browser, secretOfForm, headers] of attempts) {
      const form = new URLSearchParams({ user_code: codeOf(device), confirm: 'yes', xsrf: secretOfForm });
      expect((await browser.fetch(url, { ...from(), ...headers }, form)).status).toBe(400);
    }
    const elsewhere = await createBrowser().fetch(new URL(`${world.issuer}/device/abc`), from());
    expect(elsewhere.status, 'the way back from the sign-in, in another browser').toBe(400);
    expect((await poll(device)).body).toMatchObject({ error: 'authorization_pending' });
  });

  test('of one code is answered by one person, also when two answer at once', async () => {
    const device = await begin();
    const people = await Promise.all([1, 2].map(async () => new Person().type(codeOf(device))));
    const answers = await Promise.all(people.map(async (person) => (await person.answer(codeOf(device))).html));
    expect(answers.filter((html) => html.includes('Your device is connected'))).toHaveLength(1);
  });

  test('shows a code ten times, which then has ended', async () => {
    const device = await begin();
    const person = new Person();
    for (let count = 0; count < 10; count += 1) {
      await person.open();
      expect((await person.type(codeOf(device))).html).toContain('Allow TV');
    }
    await person.open();
    expect((await person.type(codeOf(device))).html).toContain('This code is wrong');
    expect((await poll(device)).body).toMatchObject({ error: 'expired_token' });
    expect((await poll(device)).body, 'for a minute').toMatchObject({ error: 'expired_token' });
  });
});

describe('limits by address', () => {
  test('five wrong codes a minute, then every code is refused, a right one too', async () => {
    // The log has one line a minute, which another test may have caused.
    ahead = 300_000;
    const device = await begin();
    const person = new Person(world, `198.51.100.${hop}`);
    for (let count = 0; count < 4; count += 1)
      expect((await person.type(`BBBB-BBB${'BCDF'[count]}`)).html).toContain('This code is wrong');
    expect((await person.type(codeOf(device))).html, 'a right one does not count').toContain('Allow TV');
    await person.open();
    await person.type('BBBB-BBBG');
    await person.open();
    const refused = await person.type(codeOf(device));
    expect([refused.status, refused.retryAfter]).toEqual([429, '60']);
    expect(world.observed).toContain(`log warn front door limit exceeded wrong codes of devices 198.51.100.${hop}`);
    expect((await new Person(world, `198.51.101.${hop}`).type(codeOf(device))).html).toContain('Allow TV');
    ahead += 60_001;
    await person.open();
    expect((await person.type(codeOf(device))).html).toContain('Allow TV');
  });

  test('a /64 of IPv6 is one address, and guesses at the same time share the limit', async () => {
    const people = await Promise.all(
      Array.from({ length: 12 }, (_, index) => new Person(world, `2001:db8:${hop}:1::${index + 1}`).open()),
    );
    const answers = await Promise.all(
      people.map(async (person, index) => (await person.type(`BBBB-CC${'BCDFGHJKLMNP'[index]}B`)).status),
    );
    expect(answers.filter((status) => status === 429)).toHaveLength(7);
  });

  test('a /48 of IPv6 tries fifty wrong codes a minute, however many networks it has', async () => {
    const ofNetwork = (network: number) => new Person(world, `2001:db8:${hop}:${network}::1`).open();
    const wrong = async (person: Person, code: string) => (await person.type(code)).status;
    const people = await Promise.all(Array.from({ length: 11 }, (_, network) => ofNetwork(network)));
    const statuses = await Promise.all(
      people.slice(0, 10).map(async (person) => {
        const all: number[] = [];
        for (const letter of 'BCDFG') all.push(await wrong(person, `BBBB-DDD${letter}`));
        // What an address is refused does not count for its neighbours.
        all.push(await wrong(await person.open(), 'BBBB-DDDH'));
        return all.join(' ');
      }),
    );
    expect(new Set(statuses)).toEqual(new Set(['200 200 200 200 200 429']));
    const [last = new Person()] = people.slice(10);
    expect((await last.type(codeOf(await begin()))).status, 'a right one too').toBe(429);
    const elsewhere = new Person(world, `2001:db8:${hop + 1_000}:1::1`);
    expect((await elsewhere.type('BBBB-DDDJ')).html).toContain('This code is wrong');
  });

  test('a device that asks too often gets 429 as JSON', async () => {
    const own = await forThisTest(
      startFrontDoorWorld({ frontDoor: `${frontDoor}\n  limits: { sign_ins: { requests: 1, per: 1m } }` }),
    );
    expect((await begin({}, own)).status).toBe(200);
    const refused = await begin({}, own);
    expect(refused).toMatchObject({ status: 429, body: { error: 'temporarily_unavailable' } });
    expect(refused.retryAfter).toMatch(/^\d+$/);
  });

  test('an address has 300 codes that live, and the next one gets 503', async () => {
    const own = await forThisTest(startFrontDoorWorld({ frontDoor: `${frontDoor}\n  limits: { sign_ins: off }` }));
    const answers = await Promise.all(Array.from({ length: 320 }, async () => begin({}, own)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(300);
    expect(answers.find(({ status }) => status !== 200)).toMatchObject({
      status: 503,
      body: { error: 'temporarily_unavailable' },
      retryAfter: '10',
    });
    const elsewhere = { client_id: 'tv', scope: 'read' };
    expect((await post(own, '/device/authorization', elsewhere, from('198.51.100.7'))).status).toBe(200);
    // A subscriber with a /48 of IPv6 has 65,536 networks.
    const ofOne = await Promise.all(
      Array.from({ length: 320 }, (_, index) =>
        post(own, '/device/authorization', elsewhere, from(`2001:db8:7:${index.toString(16)}::1`)),
      ),
    );
    expect(ofOne.filter(({ status }) => status === 200)).toHaveLength(300);
  });
});

test('a network has 600 visits of the page that live, and the pages of others are shown', async () => {
  const own = await forThisTest(startFrontDoorWorld({ frontDoor: `${frontDoor}\n  limits: { sign_ins: off }` }));
  const visit = async (address: string) => (await fetch(`${own.issuer}/device`, { headers: from(address) })).status;
  const answers = await Promise.all(Array.from({ length: 620 }, (_, index) => visit(`2001:db8:8:${index}::1`)));
  expect(answers.filter((status) => status === 503)).toHaveLength(20);
  expect(await visit('2001:db8:9::1')).toBe(200);
});

test('where several providers are, the person is asked for an address too, and may still deny', async () => {
  const own = await forThisTest(
    startFrontDoorWorld({
      frontDoor,
      clock: () => Date.now() + ahead,
      providerLines: `      domains: [acme.com]
    partners: { issuer: https://partners.example, client_id: a, client_secret: s3cr3t-of-partners, domains: [partners.example] }`,
    }),
  );
  for (const [form, shown, result] of [
    [{ decision: 'approve', address: 'jane@acme.com' }, 'Your device is connected', { scope: 'read' }],
    [{ decision: 'deny' }, 'Access was denied', { error: 'access_denied' }],
  ] as const) {
    const device = await begin({}, own);
    const person = await approve(device, own);
    expect(person.html).toContain('Your work address');
    expect((await poll(device, {}, own)).body).toMatchObject({ error: 'authorization_pending' });
    expect((await person.submit(form)).html).toContain(shown);
    paused();
    expect((await poll(device, {}, own)).body).toMatchObject(result);
  }
});

test('of two answers to one code that were read at once, the second is refused', async () => {
  const store = createMemoryStore(Date.now);
  const code = { kind: 'DeviceCode', userCode: 'BCDFGHJK', exp: Math.floor(Date.now() / 1000) + 60 };
  await saveDevice('id', code, store);
  await saveDevice('id', { ...code, inFlight: true }, store);
  for (const late of [{ inFlight: true }, { error: 'access_denied' }])
    await expect(saveDevice('id', { ...code, ...late }, store)).rejects.toThrow('invalid_request');
  await saveDevice('id', { ...code, inFlight: true, accountId: 'alice' }, store);
  expect(await store.get('DeviceCode', 'id')).toMatchObject({ accountId: 'alice' });
});

test.runIf(hasRedis)('over replicas a code is one code: polls, wrong codes, the answer and the token', async () => {
  const redis = await forThisTest(startRedis());
  const top = `session_key: k3y-of-at-least-thirty-two-characters\nshared: ${redis.url}`;
  const one = await forThisTest(startFrontDoorWorld({ frontDoor, top }));
  const replica = one.configWith({ listen: { host: '127.0.0.1', port: 0 } });
  const other = await forThisTest(
    startFrontDoor(replica, { openStore, observer: observerInto([]), onRevoked() {}, log() {}, onBug() {} }),
  );
  const there = { issuer: other.url };
  const device = await begin({}, there);
  expect((await poll(device, {}, one)).body).toMatchObject({ error: 'authorization_pending' });
  expect((await poll(device, {}, there)).body).toMatchObject({ error: 'slow_down' });
  const guesser = new Person(one, '198.51.100.9');
  for (let count = 0; count < 5; count += 1) await guesser.type(`BBBB-BBB${'BCDFG'[count]}`);
  const elsewhere = new Person(there, '198.51.100.9');
  expect((await elsewhere.type(codeOf(device))).status).toBe(429);
  expect((await approve(device, one)).html).toContain('Your device is connected');
  await sleep(5_100);
  const answers = await Promise.all([poll(device, {}, one), poll(device, {}, there)]);
  expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 400]);
  const good = answers.find(({ status }) => status === 200);
  expect(await one.listTools(good?.body['access_token'])).toBe(200);
});

test.runIf(hasRedis)('a writer of the store cannot lead the code of one device to another', async () => {
  const redis = await forThisTest(startRedis());
  const top = `session_key: k3y-of-at-least-thirty-two-characters\nshared: ${redis.url}`;
  const own = await forThisTest(startFrontDoorWorld({ frontDoor, top }));
  const [ofPerson, ofThief] = [await begin({}, own), await begin({}, own)];
  const { client: store } = redis;
  const keys = await store.keys('*{front-door}:UserCode:*');
  expect(keys).toHaveLength(2);
  const [one = '', other = ''] = keys;
  const values = await store.mGet([one, other]);
  await store.mSet([
    [one, values[1] ?? ''],
    [other, values[0] ?? ''],
  ]);
  for (const device of [ofPerson, ofThief])
    expect((await new Person(own).type(codeOf(device))).html).toContain('This code is wrong');
});
