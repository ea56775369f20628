import type { Account } from './accounts.ts';
import { html } from '../../src/front-door/html.ts';
import type { Page } from '../../src/front-door/page.ts';

/** The content of the login page. */
export interface LoginRequest {
  readonly clientName: string;
  readonly accounts: readonly Account[];
  readonly returnsTo: string;
  /** The user name of a failed attempt. */
  readonly failedName?: string;
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
            <th scope="col">User</th>
            <th scope="col">Password</th>
            <th scope="col">Role</th>
            <th scope="col">Tenant</th>
            <th scope="col">Country</th>
            <th scope="col">Risk</th>
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
