import assert from 'node:assert/strict';
import { setTimeout } from 'node:timers/promises';

import { createBrowser, type Browser } from '../browser.ts';
import { demoApiClient, obtainToken, type Tokens } from '../obtain-token.ts';
import type { Deployment } from './deployment.ts';
import { expectRefusal } from './expect.ts';
import type { Report } from './report.ts';

const user = 'alice';
/** How long a stream may outlive the event, R-317. */
const limitMs = 1_000;

/** The end of rights before the end of a token: alice signs out, and the authorization server says so by an event. */
export async function walkRevocation(report: Report, deployment: Deployment): Promise<void> {
  const { gatewayUrl, issuer, apiAudience: resource } = deployment;
  const browser = createBrowser();
  const signIn = (): Promise<Tokens> =>
    obtainToken({ issuer, client: demoApiClient, user, scope: 'read', resource, browser });
  const call = (path: string, { accessToken }: Tokens): Promise<Response> =>
    fetch(gatewayUrl + path, { headers: { authorization: `Bearer ${accessToken}` } });
  let tokens: Tokens;
  let over: Promise<number>;

  await report.step('Authorized', 'GET /events, a stream without end', async () => {
    tokens = await signIn();
    const response = await call('/events', tokens);
    assert.equal(response.status, 200, 'status');
    const reader = response.body?.getReader();
    assert.equal((await reader?.read())?.done, false, 'an event arrives');
    over = (async () => {
      while (!(await reader?.read())?.done);
      return performance.now();
    })();
    return { status: 200, note: `with a JWT that is valid for ${tokens.expiresIn} s` };
  });

  await report.step('Session revoked', `${user} signs out at the authorization server`, async () => {
    await signOut(issuer, browser);
    const since = performance.now();
    const ended = await Promise.race([over, setTimeout(limitMs)]);
    assert.ok(ended !== undefined, `the stream ends within ${limitMs} ms`);
    const ms = Math.max(0, ended - since).toFixed(0);
    return { note: `it pushed a signed session-revoked to the gateway, which ended the stream (${ms} ms later)` };
  });

  await report.step('Session revoked', 'GET /anything/else with the same JWT', async () => {
    const refused = { status: 401, challenge: 'Bearer error="invalid_token"' };
    const finding = expectRefusal(await call('/anything/else', tokens), refused);
    return { ...finding, note: 'its signature and its expiry are still good' };
  });

  report.wait('a token of the same second counts as issued before the event');
  await setTimeout(1_000);
  await report.step('Authorized', `GET /anything/else, after ${user} has signed in again`, async () => {
    const { status } = await call('/anything/else', await signIn());
    assert.equal(status, 200, 'status');
    return { status };
  });
}

/** Signs the user of a browser out, by the pages of the authorization server. */
async function signOut(issuer: string, browser: Browser): Promise<void> {
  const nowhere = new URL('about:blank');
  const page = await browser.open(new URL(`${issuer}/oauth/v2/sign-out`), nowhere);
  const xsrf = page instanceof URL ? '' : (/name="xsrf" value="([^"]+)"/.exec(page.html)?.[1] ?? '');
  const form = new URLSearchParams({ xsrf, logout: 'yes' });
  await browser.open(new URL(`${issuer}/oauth/v2/sign-out/confirm`), nowhere, form);
}
