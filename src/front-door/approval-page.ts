import { isObject } from '../lib/json/own-member.ts';
import { html, type Markup, type Page } from './page.ts';
import { odditiesOf, shownText } from './shown-text.ts';
import { texts } from './texts.ts';

/** The person at a page. */
interface Viewer {
  readonly signedInAs: string;
  readonly signOutUrl: string;
}

/** What the page of an approval shows: of the API's object, with what the front door knows of the parties. */
export interface ApprovalPageView extends Viewer {
  readonly status: string;
  readonly createdAt: number;
  readonly expiresAt: number;
  readonly digest: string;
  readonly call: {
    readonly route: string;
    readonly method: string;
    readonly name?: string;
    readonly arguments?: unknown;
    readonly path?: string;
    readonly hidden: number;
  };
  readonly caller: string;
  /** The name of the client, and whether the operator vouches for it. */
  readonly client: { readonly name: string; readonly isVerified: boolean };
  readonly because: string | undefined;
  /** Why this person may not decide; undefined: they may. */
  readonly hindrance: string | undefined;
  /** Binds the form to the session. */
  readonly formToken: string;
  readonly now: number;
}

/** The longest text that is shown whole; the most arguments, and the most values inside them all together. */
const MAX_TEXT = 400;
const MAX_ROWS = 60;
const MAX_DEPTH = 8;

/** The page on which a person approves a call. Two buttons, no third thing. */
export function approvalPage(view: ApprovalPageView): Page {
  const say = texts.approval;
  const { call, because, status } = view;
  const isPending = status === 'pending' && view.hindrance === undefined;
  const room: Room = { rows: MAX_ROWS, isShort: false };
  const values = call.arguments === undefined ? [] : argumentsOf(call.arguments, room);
  return {
    title: say.title,
    body: html`<h1>${isPending ? say.heading : say.status(status)}</h1>
      <p class="what"><code>${shownText(call.name ?? call.path ?? call.method, MAX_TEXT)}</code></p>
      ${oddList(view, room.isShort)}
      <dl>
        <dt>${say.caller}</dt>
        <dd><code>${shownText(view.caller, MAX_TEXT)}</code></dd>
        <dt>${say.client}</dt>
        <dd>
          <code>${shownText(view.client.name, MAX_TEXT)}</code>
          ${view.client.isVerified ? [] : html`<span class="note">${say.unverified}</span>`}
        </dd>
        <dt>${say.asks}</dt>
        <dd><code>${shownText(call.method, MAX_TEXT)}</code> ${say.on} <code>${call.route}</code></dd>
        ${
          call.path === undefined
            ? []
            : html`<dt>${say.path}</dt>
                <dd><code>${shownText(call.path, MAX_TEXT)}</code></dd>`
        }
      </dl>
      ${values} ${call.hidden === 0 ? [] : html`<p class="high">${say.hidden(call.hidden)}</p>`}
      ${because === undefined ? [] : html`<p class="note">${because}</p>`}
      <p class="note">
        ${say.since(view.now - view.createdAt)} ${status === 'pending' ? say.until(view.expiresAt - view.now) : ''}
        ${status === 'approved' ? say.usable(view.expiresAt - view.now) : ''}
      </p>
      ${view.hindrance === undefined ? [] : html`<p class="error" role="alert">${view.hindrance}</p>`}
      ${isPending ? formOf(view) : []} ${viewerLine(view)}`,
  };
}

/** The page for a person who decides nothing, with the way to another account. */
export function approvalNotice(heading: string, note: string, viewer: Viewer): Page {
  return {
    title: texts.approval.title,
    body: html`<h1>${heading}</h1>
      <p role="alert">${note}</p>
      ${viewerLine(viewer)}`,
  };
}

function viewerLine({ signedInAs, signOutUrl }: Viewer): Markup {
  return html`<p class="note">
    ${texts.consent.signedInAs} ${signedInAs} (<a href="${signOutUrl}">${texts.consent.signOut}</a>)
  </p>`;
}

function formOf({ digest, formToken }: ApprovalPageView): Markup {
  const say = texts.approval;
  return html`<form method="post">
    <input type="hidden" name="digest" value="${digest}" />
    <input type="hidden" name="token" value="${formToken}" />
    <div class="decide">
      <button name="decision" value="deny">${say.deny}</button>
      <button class="primary" name="decision" value="approve">${say.approve}</button>
    </div>
  </form>`;
}

/** What is odd about the call, before anything else: a tired person must see it. */
function oddList({ call, caller, client }: ApprovalPageView, isShort: boolean): Markup | readonly Markup[] {
  const shown = textsIn([call.name, call.path, call.method, call.arguments, caller, client.name]);
  // A line break is odd about none of them, and ends what is odd about one.
  const found = odditiesOf(shown.join('\n'));
  const say = texts.approval;
  const lines = [
    ...(found.hasHidden ? [say.oddHidden] : []),
    ...(found.hasLookAlikes ? [say.oddLetters] : []),
    ...(found.hasRightToLeft ? [say.oddOrder] : []),
    ...(isLong(call.arguments) ? [say.oddLong] : []),
    ...(isShort ? [say.oddMany(valuesIn(call.arguments))] : []),
  ];
  if (lines.length === 0) return [];
  return html`<ul class="odd" role="alert">
    ${lines.map((line) => html`<li>${line}</li>`)}
  </ul>`;
}

/** The names and texts in a value, at any depth. */
function textsIn(value: unknown): readonly string[] {
  const texts: string[] = [];
  const open: unknown[] = [value];
  while (open.length > 0) {
    const next = open.pop();
    if (typeof next === 'string') texts.push(next);
    else if (typeof next === 'object' && next !== null) {
      for (const [name, inner] of Object.entries(next)) {
        texts.push(name);
        open.push(inner);
      }
    }
  }
  return texts;
}

/** How many members and entries a value has, at any depth. */
function valuesIn(value: unknown): number {
  if (!isContainer(value)) return 0;
  return Object.values(value).reduce<number>((sum, inner) => sum + 1 + valuesIn(inner), 0);
}

function isLong(value: unknown): boolean {
  if (typeof value === 'string') return value.length > MAX_TEXT;
  return typeof value === 'object' && value !== null && Object.values(value).some(isLong);
}

/** How many values inside arguments can still be shown, and whether some are not. */
interface Room {
  rows: number;
  isShort: boolean;
}

function argumentsOf(value: unknown, room: Room): Markup {
  return html`<h2>${texts.approval.arguments}</h2>
    ${membersOf(value, 0, room)}`;
}

function membersOf(value: unknown, depth: number, room: Room): Markup {
  const say = texts.approval;
  if (!isContainer(value)) return html`<p>${scalarOf(value)}</p>`;
  const entries = Object.entries(value);
  if (entries.length === 0) return html`<span class="note">${Array.isArray(value) ? say.emptyList : say.empty}</span>`;
  if (depth >= MAX_DEPTH) {
    room.isShort = true;
    return html`<span class="cut">${say.deeper(JSON.stringify(value).length)}</span>`;
  }
  const shown: Markup[] = [];
  for (const [index, [key, inner]] of entries.entries()) {
    // A long list in one argument must not hide the next argument.
    const isFull = depth === 0 ? index >= MAX_ROWS : room.rows <= 0;
    if (isFull) {
      room.isShort = true;
      shown.push(html`<dd class="cut">${say.more(entries.length - index)}</dd>`);
      break;
    }
    if (depth > 0) room.rows -= 1;
    const name = Array.isArray(value) ? say.entry(index + 1) : key;
    shown.push(
      html`<dt><code>${shownText(name, 200)}</code></dt>
        <dd>${isContainer(inner) ? membersOf(inner, depth + 1, room) : scalarOf(inner)}</dd>`,
    );
  }
  return html`<dl class="values">${shown}</dl>`;
}

/** A number that JavaScript would round is an object too, which is frozen. */
function isContainer(value: unknown): value is object {
  return (Array.isArray(value) || isObject(value)) && !Object.isFrozen(value);
}

function scalarOf(value: unknown): Markup {
  const say = texts.approval;
  if (typeof value === 'string') {
    return value === ''
      ? html`<span class="note">${say.emptyText}</span>`
      : html`<code class="text">“${shownText(value, MAX_TEXT)}”</code>`;
  }
  const text = JSON.stringify(value);
  const grouped = groupedDigits(text);
  return grouped === text
    ? html`<code>${text}</code>`
    : html`<code>${text}</code> <span class="note">${grouped}</span>`;
}

/** A number of many digits in groups of three, so that no zero is overlooked. */
function groupedDigits(text: string): string {
  const [, sign = '', whole, rest = ''] = /^(-?)(\d{5,})(\.\d+)?$/.exec(text) ?? [];
  return whole === undefined ? text : sign + whole.replaceAll(/\B(?=(?:\d{3})+$)/g, ',') + rest;
}
