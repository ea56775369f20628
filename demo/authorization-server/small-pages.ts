import { html } from '../../src/front-door/html.ts';
import type { Page } from '../../src/front-door/page.ts';

/** The error page. */
export function errorPage(error: string, description = ''): Page {
  return {
    title: 'Something went wrong',
    body: html`<h1>Something went wrong</h1>
      <p role="alert">${description}</p>
      <p class="note"><code>${error}</code></p>`,
  };
}

/** The sign-out page. `form` is oidc-provider's hidden form, already HTML, which the buttons submit. */
export function signOutPage(form: string): Page {
  return {
    title: 'Sign out',
    body: html` <h1>Do you want to sign out?</h1>
      <p>Clients that you allowed to act for you lose their access, too.</p>
      ${{ markup: form }}
      <button class="primary" form="op.logoutForm" name="logout" value="yes">Sign out</button>
      <button form="op.logoutForm">Stay signed in</button>`,
  };
}

/** Confirms the end of a session. */
export const signedOutPage: Page = {
  title: 'Signed out',
  body: html`<h1>You are signed out</h1>
    <p>You can close this page.</p>`,
};
