import { isObject } from '../lib/json/own-member.ts';
import { html, type Markup, type Page } from './page.ts';
import { texts } from './texts.ts';

interface Viewer {
  readonly signedInAs: string;
  readonly signOutUrl: string;
}

/** The content of the page of an approval: of the API's object, with what the front door knows of the parties. */
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

/** The oddities of the call, before anything else: a tired person must see them. */
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

function valuesIn(value: unknown): number {
  if (!isContainer(value)) return 0;
  return Object.values(value).reduce<number>((sum, inner) => sum + 1 + valuesIn(inner), 0);
}

function isLong(value: unknown): boolean {
  if (typeof value === 'string') return value.length > MAX_TEXT;
  return typeof value === 'object' && value !== null && Object.values(value).some(isLong);
}

/** The values inside arguments that can still be shown, and whether some are not. */
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

/** Characters that show nothing, or move what is around them: controls, bidirectional ones, odd spaces, blanks. */
const hidden = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cn}\p{Co}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}/u;
/** Marks of one letter beyond those that languages use: they would cover other lines. */
const piled = /(?<=\p{M}{3})\p{M}/gu;
/** Letters that are written from right to left: numbers beside them change places. */
const rightToLeft =
  /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Adlam}]/u;
/** Letters of other scripts that look like those of ASCII in common fonts. */
const lookAlikes = new Set('аеорсухіјѕԁһӏԛԝвкмнтАВЕКМНОРСТХУІЈЅԌԚԜΑΒΕΖΗΙΚΜΝΟΡΤΥΧοανιρυκχտսոօցհյԼՕՍᎪᎬᎳᎠᏟᎢᎻᏦᎷᏃᏴıȷɑɡɩɪʟ');
const word = /[\p{L}\p{N}\p{M}]+/gu;

interface Oddities {
  readonly hasHidden: boolean;
  readonly hasLookAlikes: boolean;
  readonly hasRightToLeft: boolean;
}

/** Where letters look like others: those of another script beside Latin, or of words made of such letters alone. */
function markedIn(text: string): ReadonlySet<number> {
  const marked = new Set<number>();
  for (const { 0: found, index } of text.matchAll(word)) {
    const letters = Array.from(found);
    const isMixed = letters.some((each) => /\p{Script=Latin}/u.test(each)) && letters.some(isOfOtherScript);
    const foreign = letters.filter((each) => !/[0-9A-Za-z]/.test(each));
    const isDisguised = foreign.length > 0 && foreign.every((each) => lookAlikes.has(each));
    let at = index;
    for (const letter of letters) {
      const isCompatible = letter.normalize('NFKC') !== letter;
      if (isCompatible || (isMixed && isOfOtherScript(letter)) || (isDisguised && lookAlikes.has(letter)))
        marked.add(at);
      at += letter.length;
    }
  }
  return marked;
}

function isOfOtherScript(letter: string): boolean {
  return /\p{L}/u.test(letter) && !/\p{Script=Latin}/u.test(letter);
}

/** The oddities of a text that a caller chose. */
export function odditiesOf(text: string): Oddities {
  return {
    hasHidden: hidden.test(text.replaceAll(/[\n\t]/g, '')) || text.search(piled) !== -1,
    hasLookAlikes: markedIn(text).size > 0,
    hasRightToLeft: rightToLeft.test(text),
  };
}

/** A text that a caller chose: hidden characters as their codes, look-alike letters marked, and cut. */
export function shownText(text: string, most: number): Markup {
  const isCut = text.length > most;
  // Not within a character.
  const whole = isCut ? text.slice(0, most).replace(/[\uD800-\uDBFF]$/, '') : text;
  const marked = markedIn(whole);
  const coded = new Set(Array.from(whole.matchAll(piled), ({ index }) => index));
  const parts: Markup[] = [];
  let plain = '';
  let at = 0;
  const flush = (): void => {
    if (plain !== '') parts.push(html`${plain}`);
    plain = '';
  };
  for (const character of whole) {
    if (character === '\n') {
      flush();
      parts.push(html`<span class="code">↵</span>${'\n'}`);
    } else if (hidden.test(character) || coded.has(at)) {
      flush();
      parts.push(html`<span class="code">${codeOf(character)}</span>`);
    } else if (marked.has(at)) {
      flush();
      parts.push(html`<mark>${character}<span class="code">${codeOf(character)}</span></mark>`);
    } else plain += character;
    at += character.length;
  }
  flush();
  if (isCut) {
    const more = text.length - whole.length;
    parts.push(html`<span class="cut">… ${more.toLocaleString('en')} more characters</span>`);
  }
  return { markup: parts.map(({ markup }) => markup).join('') };
}

function codeOf(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
}
