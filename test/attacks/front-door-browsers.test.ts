/**
 * Attacks on the browser in the middle of a sign-in. A sibling host of the front door can set cookies for the whole
 * domain (cookie tossing, RFC 6265bis §8.6), and any site can send a browser to the front door again and again.
 *
 * @module
 */
import { beforeAll, describe, expect, test } from 'vitest';
import { startFrontDoorWorld } from '../worlds/front-door.ts';
import { type OAuthClient, register, registerClient } from '../worlds/oauth-client.ts';
import { startBeforeAll } from '../support/start-before.ts';

let client: OAuthClient;

const world = startBeforeAll(startFrontDoorWorld);
beforeAll(async () => {
  world.provider.person = { sub: 'the victim' };
  client = await registerClient(world.issuer);
});

/** A browser that takes one step at a time, and sends every cookie that it has. */
function createTab() {
  const cookies = new Map<string, string>();
  return {
    cookies,
    async open(url: string, form?: Record<string, string>) {
      const response = await fetch(url, {
        redirect: 'manual',
        headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
        ...(form !== undefined && { method: 'POST', body: new URLSearchParams(form) }),
      });
      for (const cookie of response.headers.getSetCookie()) {
        const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? [];
        if (/max-age=0|expires=Thu, 01 Jan 1970/i.test(cookie)) cookies.delete(name);
        else cookies.set(name, value);
      }
      const html = await response.text();
      const next = response.headers.get('location') ?? /content="0; url=([^"]*)"/.exec(html)?.[1];
      return { status: response.status, html, next: next && new URL(next.replaceAll('&amp;', '&'), url).href };
    },
  };
}

type Tab = ReturnType<typeof createTab>;

/** Opens `url` and follows the browser up to the first address that matches, which is not opened. */
async function follow(tab: Tab, url: string, stop: RegExp): Promise<string> {
  let at = url;
  while (!stop.test(at)) {
    const { next, html } = await tab.open(at);
    if (next === undefined) throw new Error(`no way on from ${at}: ${html}`);
    at = next;
  }
  return at;
}

/** Begins a sign-in, up to the address of its consent page. */
const begin = (tab: Tab): Promise<string> => follow(tab, client.authorizationUrl().href, /\/interaction\//);

/** Consents in `tab`, and signs in at the provider; returns the address of its answer. */
async function signInAtProvider(tab: Tab, interaction: string): Promise<string> {
  const { next = '' } = await tab.open(interaction, { decision: 'approve' });
  return follow(tab, next, /\/callback\/corporate\?/);
}

/** A sibling host sets the cookies of one browser in another. Those with the prefix `__Host-` it cannot set. */
function toss(from: Tab, to: Tab): void {
  for (const [name, value] of from.cookies)
    if (/^sallyport_(?:interaction|resume)/.test(name)) to.cookies.set(name, value);
}

describe('a browser with the cookies of another one', () => {
  test('cannot consent for it: the attacker would get the code and the session of the victim', async () => {
    const [attacker, victim] = [createTab(), createTab()];
    const interaction = await begin(attacker);
    toss(attacker, victim);
    expect((await victim.open(interaction)).status).toBe(400);
    expect((await victim.open(interaction, { decision: 'approve' })).status).toBe(400);
  });

  test('cannot finish its sign-in: the victim would be signed in as the attacker', async () => {
    const [attacker, victim] = [createTab(), createTab()];
    const callback = await signInAtProvider(attacker, await begin(attacker));
    const { next: resume = '' } = await attacker.open(callback);
    expect(resume).toContain('/authorize/');
    toss(attacker, victim);
    for (const url of [resume, `${resume}x`]) {
      const { status, html } = await victim.open(url);
      expect([url, status]).toEqual([url, 400]);
      expect(html).toContain('began in another browser');
    }
    // No endpoint, although the router of oidc-provider takes them for one.
    for (const url of [resume.replace('/authorize/', '/AUTHORIZE/'), `${resume}/`]) {
      expect([url, (await victim.open(url)).status]).toEqual([url, 404]);
    }
    expect([...victim.cookies.keys()].join()).not.toContain('session');
    expect((await attacker.open(resume)).next, 'its own browser').toContain('code=');
  });
});

test('tells the client that the person refused at the provider', async () => {
  const { person } = world.provider;
  world.provider.person = undefined;
  expect(await client.errorOf()).toBe('access_denied');
  world.provider.person = person;
});

test('a site that begins sign-ins again and again does not fill the cookies of a browser', async () => {
  const tab = createTab();
  for (let count = 0; count < 40; count += 1) await begin(tab);
  const header = [...tab.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  expect(header.length).toBeLessThan(4096);
  const end = await follow(tab, await signInAtProvider(tab, await begin(tab)), /^http:\/\/127\.0\.0\.1:8976/);
  expect(end, 'the newest one works').toContain('code=');
});

test('with TLS, no other host can set the cookie of a sign-in', async () => {
  world.frontDoor.reload(world.configWith({ issuer: 'https://signin.example.com' }));
  const begun = fetch(client.authorizationUrl().href, { redirect: 'manual' });
  const { headers } = await begun.finally(() => world.frontDoor.reload(world.config));
  const cookie = /^__Host-sallyport_sign_in_\w+=[^;]+; Max-Age=1800; Path=\/; Secure; HttpOnly; SameSite=Lax$/;
  expect(headers.getSetCookie()).toContainEqual(expect.stringMatching(cookie));
});

test('a caller that has not signed in stores little', async () => {
  const authorize = (state: string) => {
    const url = client.authorizationUrl();
    url.searchParams.set('state', state);
    return fetch(url, { redirect: 'manual' });
  };
  expect((await authorize('s'.repeat(4_000))).headers.get('location')).toContain('/interaction/');
  const refused = await authorize('s'.repeat(12_000));
  const { searchParams } = new URL(refused.headers.get('location') ?? world.issuer);
  const tooLong = { error_description: 'the request is too long' };
  expect(Object.fromEntries(searchParams)).toMatchObject({ error: 'invalid_request', ...tooLong });
  const redirectUris = Array.from({ length: 12 }, (_, at) => `http://127.0.0.1/${at}${'a'.repeat(1_900)}`);
  expect((await register(world.issuer, { redirect_uris: redirectUris })).body).toMatchObject(tooLong);
});
