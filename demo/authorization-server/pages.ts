import { html, type Markup, type Page } from '../../src/front-door/page.ts';
import type { Account } from './accounts.ts';
import { isHighPrivilege, scopeRules } from './resources.ts';

/** The content of the login page. */
export interface LoginRequest {
  readonly clientName: string;
  readonly accounts: readonly Account[];
  readonly returnsTo: string;
  /** The user name of a failed attempt. */
  readonly failedName: string | undefined;
}

/** The login page. It shows the passwords of all users: this is a demo. */
export function loginPage({ clientName, accounts, returnsTo, failedName }: LoginRequest): Page {
  const failed =
    failedName === undefined ? [] : [html`<p class="error" role="alert">Unknown user or wrong password.</p>`];
  return {
    title: 'Sign in',
    returnsTo,
    body: html` <h1>Sign in to continue to ${clientName}</h1>
      ${failed}
      <form method="post">
        <label for="username">User name</label>
        <input
          id="username"
          name="username"
          value="${failedName ?? ''}"
          autocomplete="username"
          autocapitalize="none"
          spellcheck="false"
          required
          autofocus
        />
        <label for="password">Password</label>
        <input id="password" name="password" type="password" autocomplete="current-password" required />
        <button class="primary" name="decision" value="sign-in">Sign in</button>
        <button name="decision" value="cancel" formnovalidate>Cancel</button>
      </form>
      <table>
        <caption>
          This is a demo. These people can sign in:
        </caption>
        <thead>
          <tr>
            ${['User', 'Password', 'Role', 'Tenant', 'Country', 'Risk'].map((name) => html`<th scope="col">${name}</th>`)}
          </tr>
        </thead>
        <tbody>
          ${accounts.map(row)}
        </tbody>
      </table>`,
  };
}

function row({ name, password, claims }: Account) {
  const columns = ['role', 'tenant', 'country', 'risk'].map((claim) => html`<td>${printed(claims[claim])}</td>`);
  return html` <tr>
    <th scope="row">${name}</th>
    <td><code data-password-of="${name}">${password}</code></td>
    ${columns}
  </tr>`;
}

function printed(claim: unknown): string {
  if (claim === undefined) return '–';
  return typeof claim === 'string' ? claim : JSON.stringify(claim);
}

/** A request for consent. */
export interface ConsentRequest {
  readonly userName: string;
  readonly clientName: string;
  /** Whether the client is external: its name is then only its own claim. */
  readonly dynamicClient: boolean;
  readonly resources: readonly string[];
  readonly scopes: readonly string[];
  readonly returnsTo: string;
  /** The lifetime of a token with a high privilege, in seconds. */
  readonly highPrivilegeTtl: number;
  readonly signOutUrl: string;
}

/** The consent page. */
export function consentPage(request: ConsentRequest): Page {
  const { clientName, dynamicClient, highPrivilegeTtl, resources, returnsTo, scopes, signOutUrl, userName } = request;
  const unverified = html`<p class="note">This client is external, and its name is not verified.</p>`;
  const shortLived = html` <p class="high">
    This includes high privileges. They end after ${String(highPrivilegeTtl)} seconds.
  </p>`;
  return {
    title: 'Allow access',
    returnsTo,
    body: html` <h1>Allow ${clientName} to act for you?</h1>
      ${dynamicClient ? unverified : []}
      <p>It wants to:</p>
      <ul>
        ${scopes.map(scopeItem)}
      </ul>
      ${isHighPrivilege(scopes) ? shortLived : []}
      <dl>
        <dt>At</dt>
        ${resources.map((resource) => html`<dd><code>${resource}</code></dd>`)}
        <dt>You return to</dt>
        <dd><code>${new URL(returnsTo).origin}</code></dd>
        <dt>You are signed in as</dt>
        <dd>${userName} (<a href="${signOutUrl}">sign out</a>)</dd>
      </dl>
      <form method="post">
        <button class="primary" name="decision" value="approve">Allow</button>
        <button name="decision" value="deny">Deny</button>
      </form>`,
  };
}

function scopeItem(name: string): Markup {
  const badge = isHighPrivilege([name]) ? html` <strong class="high">High privilege</strong>` : [];
  return html` <li>${scopeRules.get(name)?.description ?? name} (<code>${name}</code>)${badge}</li>`;
}

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
