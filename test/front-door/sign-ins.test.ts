/** A sign-in belongs to the browser that began it, and to the provider that it was sent to. */
import { beforeAll, describe, expect, test } from 'vitest';
import { createCookieJar, type CookieJar } from '../../demo/cookie-jar.ts';
import { startFrontDoorWorld } from '../worlds/front-door.ts';
import { registerClient } from '../worlds/oauth-client.ts';
import { startBeforeAll } from '../support/start-before.ts';

const world = startBeforeAll(startFrontDoorWorld);
beforeAll(async () => {
  world.provider.person = { sub: '248289761001' };
});

/** A page or a redirect, without following it. */
interface Step {
  readonly status: number;
  readonly location: string;
  readonly html: string;
  readonly headers: Headers;
}

/** A browser that takes one step at a time. */
class Stepper {
  readonly jar: CookieJar = createCookieJar();

  async open(url: string, form?: Record<string, string>, headers: Record<string, string> = {}): Promise<Step> {
    const response = await fetch(url, {
      redirect: 'manual',
      headers: { accept: 'text/html', cookie: this.jar.header(new URL(url)), ...headers },
      ...(form !== undefined && { method: 'POST', body: new URLSearchParams(form) }),
    });
    this.jar.store(new URL(url), response.headers.getSetCookie());
    const html = await response.text();
    const refresh = /content="0; url=([^"]*)"/.exec(html)?.[1]?.replaceAll('&amp;', '&');
    const location = response.headers.get('location') ?? refresh ?? '';
    return {
      status: response.status,
      location: location === '' ? '' : new URL(location, url).href,
      html,
      headers: response.headers,
    };
  }

  /** Begins a sign-in: the consent page, and its address. */
  async begin(): Promise<{ readonly interaction: string; readonly page: Step }> {
    const client = await registerClient(world.issuer);
    const { location } = await this.open(client.authorizationUrl().href);
    return { interaction: location, page: await this.open(location) };
  }

  /** Goes on until `stop` matches the next address, and returns that. */
  async follow(from: string, stop: RegExp): Promise<string> {
    let at = from;
    while (!stop.test(at)) {
      const { location, html } = await this.open(at);
      if (location === '') throw new Error(`no way on from ${at}: ${html}`);
      at = location;
    }
    return at;
  }
}

const atCallback = /\/callback\/corporate\?/;

async function toCallback(browser: Stepper): Promise<string> {
  const { interaction } = await browser.begin();
  const { location } = await browser.open(interaction, { decision: 'approve' });
  return browser.follow(location, atCallback);
}

test('two sign-ins of one browser at once do not disturb each other', async () => {
  const browser = new Stepper();
  const [one, other] = [await toCallback(browser), await toCallback(browser)];
  for (const callback of [other, one]) {
    const end = await browser.follow(callback, /^http:\/\/127\.0\.0\.1:8976/);
    expect(end).toContain('code=');
  }
});

describe('refuses the answer of a provider', () => {
  const expired = 'This sign-in has expired, was finished already, or began in another browser.';

  test('in a browser that did not begin the sign-in', async () => {
    const callback = await toCallback(new Stepper());
    const victim = new Stepper();
    await toCallback(victim);
    const { status, html } = await victim.open(callback);
    expect([status, html.includes(expired)]).toEqual([400, true]);
  });

  test('that was used already', async () => {
    const browser = new Stepper();
    const callback = await toCallback(browser);
    expect((await browser.open(callback)).status).toBe(200);
    expect((await browser.open(callback)).html).toContain(expired);
  });

  test.each([
    ['with an unknown state', (callback: string) => callback.replace(/state=[^&]*/, 'state=unknown')],
    ['with two states', (callback: string) => `${callback}&state=another`],
    ['at the callback of an unknown provider', (callback: string) => callback.replace('corporate', 'other')],
    ['without a state', (callback: string) => callback.replace(/state=[^&]*/, '')],
  ])('%s', async (_title, change) => {
    const browser = new Stepper();
    const { html } = await browser.open(change(await toCallback(browser)));
    expect(html).toContain(expired);
  });

  test.each([
    ['with another code', (callback: string) => callback.replace(/code=[^&]*/, 'code=injected')],
    ['of another issuer', (callback: string) => callback.replace(/iss=[^&]*/, 'iss=https%3A%2F%2Fevil.example')],
  ])('%s, and tells the client', async (_title, change) => {
    const browser = new Stepper();
    const { location } = await browser.open(change(await toCallback(browser)));
    const answer = new URL(await browser.follow(location, /^http:\/\/127\.0\.0\.1:8976/));
    expect(answer.searchParams.get('error')).toBe('server_error');
  });
});

test('tells the client that the person refused at the provider', async () => {
  const person = world.provider.person;
  world.provider.person = undefined;
  const browser = new Stepper();
  const answer = new URL(await browser.follow(await toCallback(browser), /^http:\/\/127\.0\.0\.1:8976/));
  world.provider.person = person;
  expect(answer.searchParams.get('error')).toBe('access_denied');
});

describe('the consent page', () => {
  test('cannot be framed, stored or made to run a script', async () => {
    const { page } = await new Stepper().begin();
    expect(page.headers.get('content-security-policy')).toMatch(
      /^default-src 'none'; style-src 'sha256-[^']+'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'$/,
    );
    expect(page.headers.get('x-frame-options')).toBe('DENY');
    expect(page.headers.get('cache-control')).toBe('no-store');
  });

  test('takes no answer of another site', async () => {
    const browser = new Stepper();
    const { interaction } = await browser.begin();
    const { status, location } = await browser.open(
      interaction,
      { decision: 'approve' },
      { 'sec-fetch-site': 'cross-site' },
    );
    expect([status, location]).toEqual([400, '']);
  });

  test('belongs to the browser that asked for it', async () => {
    const { interaction } = await new Stepper().begin();
    const { status, location } = await new Stepper().open(interaction, { decision: 'approve' });
    expect([status, location]).toEqual([400, '']);
  });

  test('takes no other form', async () => {
    const browser = new Stepper();
    const { interaction } = await browser.begin();
    expect((await browser.open(interaction, { decision: 'a'.repeat(20_000) })).status).toBe(413);
  });
});
