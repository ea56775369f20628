import type { ClientFacts } from './clients.ts';
import { html, type Markup, type Page } from './page.ts';
import type { ShownScope } from './scope-rules.ts';
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
  /** Undefined: the client is in this browser, or in an app. */
  readonly device?: AskingDevice;
}

/** What the page of a user code says besides. */
export interface AskingDevice {
  readonly form: { readonly action: string; readonly xsrf: string };
  readonly userCode: string;
  /** The address, or the network, that the device asked from. */
  readonly address: string;
  /** How long ago. */
  readonly seconds: number;
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
        ${view.device === undefined ? [] : deviceRows(view.device)} ${signedInRow(view)}
      </dl>
      ${warningOf(client)}
      ${
        view.device === undefined
          ? html`<form method="post">
              ${next.kind === 'address' ? addressField(view.unknownAddress) : []} ${nextText(view)}
              <button class="primary" name="decision" value="approve">${say.allow}</button>
              <button name="decision" value="deny" formnovalidate>${say.deny}</button>
            </form>`
          : html`<form method="post" action="${view.device.form.action}">
              <input type="hidden" name="xsrf" value="${view.device.form.xsrf}" />
              <input type="hidden" name="user_code" value="${view.device.userCode}" />
              ${nextText(view)}
              <button class="primary" name="confirm" value="yes">${say.allow}</button>
              <button name="abort" value="yes">${say.deny}</button>
            </form>`
      }`,
  };
}

function deviceRows({ userCode, address, seconds }: AskingDevice): Markup {
  const say = texts.device;
  return html`<dt>${say.sameCode}</dt>
    <dd><code>${userCode}</code></dd>
    <dt>${say.requested}</dt>
    <dd>${say.requestedFrom(seconds)} <code>${address}</code></dd>`;
}

/** The page where a person types the code that a device shows. */
export function codePage({ action, xsrf }: AskingDevice['form'], code: string, problem?: string): Page {
  const say = texts.device;
  return {
    title: say.title,
    body: html`<h1>${say.heading}</h1>
      <p>${say.enter}</p>
      <p class="high">${say.warning}</p>
      <form method="post" action="${action}">
        <input type="hidden" name="xsrf" value="${xsrf}" />
        <label for="code">${say.code}</label>
        <input
          id="code"
          class="typed"
          name="user_code"
          value="${code}"
          placeholder="XXXX-XXXX"
          autocomplete="off"
          autocapitalize="characters"
          spellcheck="false"
          maxlength="20"
          ${problem === undefined ? [] : html`aria-describedby="why"`}
          required
          autofocus
        />
        ${problem === undefined ? [] : html`<p class="error" id="why" role="alert">${problem}</p>`}
        <button class="primary">${say.goOn}</button>
      </form>`,
  };
}

/** A page that says how something ended. */
export function messagePage(heading: string, note: string): Page {
  return {
    title: heading,
    body: html`<h1>${heading}</h1>
      <p>${note}</p>`,
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

function returnRow({ returnsTo: { kind, host } }: ClientFacts): Markup | readonly Markup[] {
  const say = texts.consent;
  if (kind === 'device') return [];
  if (kind === 'host') return row(say.returnsTo, host);
  return html`<dt>${say.returnsTo}</dt>
    <dd>${kind === 'app' ? say.app(host) : say.loopback}</dd>`;
}

function warningOf({ returnsTo: { kind } }: ClientFacts): Markup | readonly Markup[] {
  if (kind === 'host') return [];
  if (kind === 'device') return html`<p class="high">${texts.device.warning}</p>`;
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

/** The page of a sign-in that failed, with what the person can do. The operator finds the cause by `code`. */
export function failedPage(why: string, code?: string, remedy: string = texts.failed.back): Page {
  return {
    title: texts.failed.title,
    body: html`<h1>${texts.failed.heading}</h1>
      <p role="alert">${why}</p>
      <p>${remedy}</p>
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
