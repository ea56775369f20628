import { isObject } from '../core/lib/json/own-member.ts';
import { html, type Markup, type Page } from './page.ts';
import { texts } from './texts.ts';

/** The person who looks at a page. */
export interface Viewer {
  readonly signedInAs: string;
  readonly signOutUrl: string;
  /** The list of all that waits for this person. */
  readonly inboxUrl: string;
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
    /** Everything else that is bound, in groups. */
    readonly unshown?: unknown;
    readonly hidden: number;
  };
  /** The subject, and the name by which people know it. */
  readonly caller: { readonly subject: string; readonly label: string | undefined };
  /** The name of the client, and whether the operator vouches for it. */
  readonly client: { readonly name: string; readonly isVerified: boolean };
  readonly because: string | undefined;
  /** Why this person may not decide; undefined: they may. */
  readonly hindrance: string | undefined;
  /** Binds the form to the session. */
  readonly formToken: string;
  readonly now: number;
}

/** The longest text, the most arguments, and the most values inside them all together, that are not folded. */
const MAX_TEXT = 400;
const MAX_ROWS = 60;
const MAX_DEPTH = 8;
/** The longest name of a call in a list. */
const MAX_NAME = 120;

/** The page on which a person approves a call. Two buttons, no third thing. */
export function approvalPage(view: ApprovalPageView): Page {
  const say = texts.approval;
  const { call, because, status } = view;
  const isPending = status === 'pending' && view.hindrance === undefined;
  const room: Room = { rows: MAX_ROWS, isFolded: false };
  const values = call.arguments === undefined ? [] : argumentsOf(call.arguments, room);
  return {
    title: say.title,
    body: html`<h1>${isPending ? say.heading : say.status(status)}</h1>
      <div class="what">${readable(call.name ?? call.path ?? call.method)}</div>
      ${oddList(view, room.isFolded)}
      <dl>
        <dt>${say.caller}</dt>
        <dd>${callerLine(view.caller)}</dd>
        <dt>${say.client}</dt>
        <dd>
          ${readable(view.client.name)}
          ${view.client.isVerified ? [] : html`<span class="note">${say.unverified}</span>`}
        </dd>
        <dt>${say.asks}</dt>
        <dd>${readable(call.method)} ${say.on} <code>${call.route}</code></dd>
        ${
          call.path === undefined
            ? []
            : html`<dt>${say.path}</dt>
                <dd>${readable(call.path)}</dd>`
        }
      </dl>
      ${values} ${unshownOf(view)} ${because === undefined ? [] : html`<p class="note">${because}</p>`}
      <p class="note">
        ${say.since(view.now - view.createdAt)} ${status === 'pending' ? say.until(view.expiresAt - view.now) : ''}
        ${status === 'approved' ? say.usable(view.expiresAt - view.now) : ''}
      </p>
      ${view.hindrance === undefined ? [] : html`<p class="error" role="alert">${view.hindrance}</p>`}
      ${isPending ? formOf(view) : []} ${viewerLine(view)}`,
  };
}

/** A person's name, with the subject in small print: a name alone could be that of another person. */
function callerLine({ label, subject }: ApprovalPageView['caller']): Markup {
  if (label === undefined) return readable(subject);
  return html`${readable(label)}
    <div class="note">${shownText(subject)}</div>`;
}

/** The calls that a person may decide. */
export interface InboxView extends Viewer {
  readonly entries: readonly (Pick<ApprovalPageView, 'call' | 'caller' | 'createdAt' | 'expiresAt'> & {
    readonly url: string;
  })[];
  /** How many wait in all. */
  readonly count: number;
  readonly now: number;
}

/** The page that lists the calls which a person may decide. */
export function inboxPage(view: InboxView): Page {
  const say = texts.approval;
  const { entries, count, now } = view;
  const rows = entries.map(
    ({ url, call, caller, createdAt, expiresAt }) =>
      html`<li>
        <a href="${url}">${shownText(nameOfCall(call))}</a> ${say.on} <code>${call.route}</code>
        <div>${shownText(caller.label ?? caller.subject)}</div>
        <div class="note">${say.since(now - createdAt)} ${say.until(expiresAt - now)}</div>
      </li>`,
  );
  return {
    title: say.inbox,
    body: html`<h1>${say.inbox}</h1>
      ${
        count === 0
          ? html`<p>${say.inboxEmpty}</p>`
          : html`<ul class="inbox">
              ${rows}
            </ul>`
      }
      ${count > entries.length ? html`<p class="note">${say.inboxMore(count - entries.length)}</p>` : []}
      <p class="note">${signedInAs(view)}</p>`,
  };
}

function nameOfCall({ name, path, method }: ApprovalPageView['call']): string {
  const text = name ?? path ?? method;
  return text.length > MAX_NAME ? `${text.slice(0, MAX_NAME)}…` : text;
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

function viewerLine(viewer: Viewer): Markup {
  return html`<p class="note"><a href="${viewer.inboxUrl}">${texts.approval.toInbox}</a></p>
    <p class="note">${signedInAs(viewer)}</p>`;
}

function signedInAs({ signedInAs: name, signOutUrl }: Viewer): Markup {
  return html`${texts.consent.signedInAs} ${name} (<a href="${signOutUrl}">${texts.consent.signOut}</a>)`;
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

/** What the policy does not show at once, and what is sent besides. */
function unshownOf({ call: { hidden, unshown } }: ApprovalPageView): Markup | readonly Markup[] {
  const say = texts.approval;
  if (unshown === undefined) return hidden === 0 ? [] : html`<p class="high">${say.hidden(hidden)}</p>`;
  const groups = Object.entries(isObject(unshown) ? unshown : {}).map(
    ([group, values]) =>
      html`<h2>${say.unshown[group] ?? group}</h2>
        ${membersOf(values, 0, unfolded())}`,
  );
  return folded(say.more(hidden), html`${groups}`);
}

/** What people unfold, with the keyboard too. */
function folded(summary: string, content: Markup): Markup {
  return html`<details>
    <summary>${summary}</summary>
    ${content}
  </details>`;
}

/** The oddities of the call, before anything else: a tired person must see them. */
function oddList({ call, caller, client }: ApprovalPageView, isFolded: boolean): Markup | readonly Markup[] {
  const shown = textsIn([call.name, call.path, call.method, call.arguments, call.unshown, caller, client.name]);
  // A line break is odd about none of them, and ends what is odd about one.
  const found = odditiesOf(shown.join('\n'));
  const say = texts.approval;
  const lines = [
    ...(found.hasHidden ? [say.oddHidden] : []),
    ...(found.hasLookAlikes ? [say.oddLetters] : []),
    ...(found.hasRightToLeft ? [say.oddOrder] : []),
    ...(shown.some((text) => text.length > MAX_TEXT) ? [say.oddLong] : []),
    ...(Object.keys(isObject(call.unshown) ? call.unshown : {}).some((group) => group !== 'arguments')
      ? [say.oddBesides]
      : []),
    ...(isFolded ? [say.oddMany(valuesIn(call.arguments))] : []),
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

/** The values inside arguments that can still be shown at once, and whether some are folded. */
interface Room {
  rows: number;
  isFolded: boolean;
}

/** The room of what a person has unfolded. */
const unfolded = (): Room => ({ rows: Infinity, isFolded: false });

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
    // Browsers nest elements to some depth only: what is deeper is text.
    room.isFolded = true;
    const text = JSON.stringify(value, undefined, 1);
    return folded(say.deeper(text.length), html`<code class="text">${shownText(text)}</code>`);
  }
  // A long list in one argument must not fold the next argument.
  const most = depth === 0 && room.rows !== Infinity ? MAX_ROWS : room.rows;
  const shown = entries.slice(0, most).map(([key, inner], index) => {
    if (depth > 0) room.rows -= 1;
    return memberOf([nameOf(value, key, index), inner], depth, room);
  });
  if (entries.length <= most) return html`<dl class="values">${shown}</dl>`;
  room.isFolded = true;
  const rest = entries.slice(most);
  const members = rest.map(([key, inner], index) =>
    memberOf([nameOf(value, key, most + index), inner], depth, unfolded()),
  );
  return html`<dl class="values">${shown}</dl>
    ${folded(say.more(rest.length), html`<dl class="values">${members}</dl>`)}`;
}

function nameOf(container: object, key: string, index: number): string {
  return Array.isArray(container) ? texts.approval.entry(index + 1) : key;
}

function memberOf([name, value]: readonly [string, unknown], depth: number, room: Room): Markup {
  return html`<dt>${readable(name)}</dt>
    <dd>${isContainer(value) ? membersOf(value, depth + 1, room) : scalarOf(value)}</dd>`;
}

/** A number that JavaScript would round is an object too, which is frozen. */
function isContainer(value: unknown): value is object {
  return (Array.isArray(value) || isObject(value)) && !Object.isFrozen(value);
}

function scalarOf(value: unknown): Markup {
  const say = texts.approval;
  if (typeof value === 'string') {
    return value === '' ? html`<span class="note">${say.emptyText}</span>` : readable(value, '“”');
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

/** A text that a caller chose, between `quotes`. What is longer than others can be unfolded. */
function readable(text: string, quotes = ''): Markup {
  const [open = '', close = ''] = quotes;
  // Not within a character.
  const head = text.slice(0, MAX_TEXT).replace(/[\uD800-\uDBFF]$/, '');
  if (text.length <= MAX_TEXT) return html`<code class="text">${open}${shownText(text)}${close}</code>`;
  const rest = html`<code class="text">${shownText(text, head.length)}${close}</code>`;
  return html`<code class="text">${open}${shownText(text, 0, head.length)}</code>
    ${folded(texts.approval.moreText(text.length - head.length), rest)}`;
}

/**
 * A text that a caller chose, from one index to another: hidden characters as their codes, look-alike letters marked.
 * The letters around decide what is marked.
 */
export function shownText(text: string, from = 0, to = text.length): Markup {
  const marked = markedIn(text);
  const coded = new Set(Array.from(text.matchAll(piled), ({ index }) => index));
  const parts: Markup[] = [];
  let plain = '';
  let at = from;
  const flush = (): void => {
    if (plain !== '') parts.push(html`${plain}`);
    plain = '';
  };
  for (const character of text.slice(from, to)) {
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
  return { markup: parts.map(({ markup }) => markup).join('') };
}

function codeOf(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
}
