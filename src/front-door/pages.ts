import type { ClientFacts } from './clients.ts';
import { html, type Markup, type Page } from './page.ts';
import { texts } from './texts.ts';

/** The content of the consent page. */
export interface ConsentView {
  readonly client: ClientFacts;
  readonly resources: readonly string[];
  /** Whether its tokens can approve calls. */
  readonly mayApprove: boolean;
  /** The scopes to allow now, and those that were allowed before. */
  readonly asked: readonly ShownScope[];
  readonly allowed: readonly ShownScope[];
  /** Undefined: the person is not signed in yet. */
  readonly signedInAs: string | undefined;
  readonly signOutUrl: string;
  /** Where the person signs in next: at one provider, or at the one of an address. */
  readonly next:
    | { readonly kind: 'none' }
    | { readonly kind: 'address' }
    | { readonly kind: 'provider'; readonly host: string };
  /** An address without a provider, to show again. */
  readonly unknownAddress?: string | undefined;
}

/** A scope as people see it. */
export interface ShownScope {
  readonly name: string;
  readonly title: string;
  /** The lifetime of a token with it, in seconds, if it is shorter than that of others. */
  readonly shortLived: number | undefined;
}

/** The consent page, which also asks for the address where several providers are configured. */
export function consentPage(view: ConsentView): Page {
  const { client, asked, allowed, resources, next } = view;
  const say = texts.consent;
  return {
    title: say.title,
    body: html`<h1>${say.heading(client.name)}</h1>
      <p class="${client.isNameVerified ? 'note' : 'high'}">${verifiedText(client)}</p>
      <p>${say.asks}</p>
      <ul>
        ${asked.map(scopeItem)}
      </ul>
      ${alreadyText(allowed)} ${view.mayApprove ? html`<p class="high">${say.mayApprove}</p>` : []}
      <dl>
        <dt>${say.access}</dt>
        ${resources.map((resource) => html`<dd><code>${resource}</code></dd>`)}
        ${client.documentHost === undefined ? [] : row(say.publishedBy, client.documentHost)} ${returnRow(client)}
        ${signedInRow(view)}
      </dl>
      ${warningOf(client)}
      <form method="post">
        ${next.kind === 'address' ? addressField(view.unknownAddress) : []} ${nextText(view)}
        <button class="primary" name="decision" value="approve">${say.allow}</button>
        <button name="decision" value="deny" formnovalidate>${say.deny}</button>
      </form>`,
  };
}

function alreadyText(allowed: readonly ShownScope[]): Markup | readonly Markup[] {
  if (allowed.length === 0) return [];
  return html`<p class="note">${texts.consent.already} ${allowed.map(({ title }) => title).join(', ')}</p>`;
}

function verifiedText({ isNameVerified, documentHost }: ClientFacts): string {
  if (isNameVerified) return texts.consent.nameVerified;
  return documentHost === undefined ? texts.consent.nameUnverified : texts.consent.documentVerified(documentHost);
}

function scopeItem({ name, title, shortLived }: ShownScope): Markup {
  const note =
    shortLived === undefined ? [] : html` <strong class="high">${texts.consent.shortLived(shortLived)}</strong>`;
  return html`<li>${title} (<code>${name}</code>)${note}</li>`;
}

function row(term: string, value: string): Markup {
  return html`<dt>${term}</dt>
    <dd><code>${value}</code></dd>`;
}

function returnRow({ returnsTo: { kind, host } }: ClientFacts): Markup {
  const say = texts.consent;
  if (kind === 'host') return row(say.returnsTo, host);
  return html`<dt>${say.returnsTo}</dt>
    <dd>${kind === 'app' ? say.app(host) : say.loopback}</dd>`;
}

function warningOf({ returnsTo: { kind } }: ClientFacts): Markup | readonly Markup[] {
  if (kind === 'host') return [];
  return html`<p class="note">${kind === 'app' ? texts.consent.appWarning : texts.consent.loopbackWarning}</p>`;
}

function signedInRow({ signedInAs, signOutUrl }: ConsentView): Markup | readonly Markup[] {
  if (signedInAs === undefined) return [];
  return html`<dt>${texts.consent.signedInAs}</dt>
    <dd>${signedInAs} (<a href="${signOutUrl}">${texts.consent.signOut}</a>)</dd>`;
}

function addressField(unknown: string | undefined): Markup {
  const say = texts.consent;
  const failed = unknown === undefined ? [] : html`<p class="error" id="why" role="alert">${say.addressUnknown}</p>`;
  return html`<label for="address">${say.address}</label>
    <input
      id="address"
      name="address"
      type="email"
      value="${unknown ?? ''}"
      autocomplete="email"
      aria-describedby="${unknown === undefined ? 'hint' : 'why'}"
      required
      autofocus
    />
    <p class="note" id="hint">${say.addressHint}</p>
    ${failed}`;
}

function nextText({ next }: ConsentView): Markup | readonly Markup[] {
  return next.kind === 'provider' ? html`<p class="note">${texts.consent.nextAt(next.host)}</p>` : [];
}

/**
 * Sends the browser on after a form. A redirect would not do: browsers apply the `form-action` of the page to the whole
 * chain of redirects that follows its form, and the hosts of a provider are not known.
 */
export function goOnPage(url: string): Page {
  const { protocol, host } = new URL(url);
  const name = host === '' ? protocol.replace(/:$/, '') : host;
  return {
    title: texts.goOn.title,
    goesOnTo: url,
    body: html`<h1>${texts.goOn.heading}</h1>
      <p><a href="${url}">${texts.goOn.link(name)}</a></p>`,
  };
}

/** The page of a sign-in that failed. The operator finds the cause by `code`. */
export function failedPage(why: string, code?: string): Page {
  return {
    title: texts.failed.title,
    body: html`<h1>${texts.failed.heading}</h1>
      <p role="alert">${why}</p>
      <p>${texts.failed.back}</p>
      ${code === undefined ? [] : html`<p class="note"><code>${code}</code></p>`}`,
  };
}

/** The sign-out page. `form` is oidc-provider's hidden form, already HTML, which the buttons submit. */
export function signOutPage(form: string): Page {
  const say = texts.signOut;
  return {
    title: say.title,
    body: html`<h1>${say.heading}</h1>
      <p>${say.note}</p>
      ${{ markup: form }}
      <button class="primary" form="op.logoutForm" name="logout" value="yes">${say.confirm}</button>
      <button form="op.logoutForm">${say.stay}</button>`,
  };
}

/** Confirms the end of a session. */
export const signedOutPage: Page = {
  title: texts.signedOut.title,
  body: html`<h1>${texts.signedOut.heading}</h1>
    <p>${texts.signedOut.note}</p>`,
};
