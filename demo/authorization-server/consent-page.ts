import { html, type Markup } from '../../src/front-door/html.ts';
import type { Page } from '../../src/front-door/page.ts';
import { isHighPrivilege, scopeRules } from './scopes.ts';

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
