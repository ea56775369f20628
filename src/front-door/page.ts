import { createHash } from 'node:crypto';
import type { ServerResponse } from 'node:http';

/** A page for a user. */
export interface Page {
  readonly title: string;
  readonly body: Markup;
  /** The URL that the browser opens by itself. */
  readonly goesOnTo?: string;
  /** Whether the next server, and those that it redirects to, learn the origin of the page. */
  readonly isReferrer?: true;
  /** The callback URL of the client, which the page's form may lead to in addition to this server. */
  readonly returnsTo?: string;
}

const css = `
:root { color-scheme: light dark; --line: light-dark(#d5d9e0, #3a4150); --dim: light-dark(#5a6372, #a3adbd);
  --accent: light-dark(#1d4ed8, #93b4ff); --warn: light-dark(#9a3412, #fdba74); }
* { box-sizing: border-box; }
body { margin: 0; overflow-wrap: anywhere; padding: 4vh 1rem; font: 1rem/1.5 system-ui, sans-serif;
  background: light-dark(#f3f5f8, #11151c); color: light-dark(#1a202c, #e8ecf3); }
main { max-width: 34rem; margin: auto; padding: 1.5rem 2rem 2rem; border: 1px solid var(--line); border-radius: .75rem;
  background: light-dark(#fff, #1a202b); }
h1 { font-size: 1.4rem; line-height: 1.25; overflow-wrap: anywhere; }
code { font: .95em ui-monospace, monospace; overflow-wrap: anywhere; unicode-bidi: isolate; }
a { color: var(--accent); }
label { display: block; margin: 1rem 0 .25rem; font-weight: 600; }
input { width: 100%; padding: .6rem; font: inherit; color: inherit; background: transparent;
  border: 1px solid var(--dim); border-radius: .4rem; }
.typed { font: 1.4rem ui-monospace, monospace; letter-spacing: .15em; text-transform: uppercase; }
button { margin: 1.25rem .5rem 0 0; padding: .6rem 1.25rem; font: inherit; font-weight: 600; cursor: pointer;
  color: var(--accent); background: transparent; border: 1px solid var(--accent); border-radius: .4rem; }
button.primary { color: light-dark(#fff, #11151c); background: var(--accent); }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
.inbox { padding: 0; list-style: none; } .inbox li { margin: 0; padding: .75rem 0; border-top: 1px solid var(--line); }
.inbox a { font-weight: 600; }
table { width: 100%; margin-top: 1.5rem; border-collapse: collapse; font-size: .875rem; }
caption { padding-bottom: .5rem; text-align: left; color: var(--dim); }
th, td { padding: .3rem .4rem .3rem 0; text-align: left; border-top: 1px solid var(--line); }
ul { padding-left: 1.25rem; }
li { margin: .5rem 0; }
h2 { font-size: 1rem; margin: 1.5rem 0 .5rem; }
.what { margin: 0 0 1rem; font-size: 1.25rem; font-weight: 600; overflow-wrap: anywhere; }
.odd { margin: 0 0 1rem; padding: .75rem 1rem .75rem 2rem; border: 2px solid var(--warn); border-radius: .4rem;
  color: var(--warn); font-weight: 600; }
.odd li { margin: .15rem 0; }
.values { margin: 0; padding-left: .75rem; border-left: 2px solid var(--line); }
.text { white-space: pre-wrap; }
.code { margin: 0 .1em; padding: 0 .25em; font: .75em ui-monospace, monospace; color: var(--warn);
  border: 1px solid var(--warn); border-radius: .25em; white-space: nowrap; }
mark { color: inherit; background: light-dark(#fde68a, #713f12); border-radius: .2em; }
details { margin: .25rem 0; } summary { color: var(--warn); font-size: .875rem; cursor: pointer; }
.decide { display: flex; gap: 1rem; margin-top: 1.5rem; } .decide button { flex: 1; margin: 0; padding: .8rem; }
dt { color: var(--dim); font-size: .875rem; } dd { margin: 0 0 .75rem; }
.note { color: var(--dim); font-size: .875rem; }
.error, .high { color: var(--warn); font-weight: 600; }
`;

// Not in the template: a formatter would indent it there and change the hashed text.
const styleElement: Markup = { markup: `<style>${css}</style>` };
const styleHash = createHash('sha256').update(css).digest('base64');

/** The whole document of a page. */
export function document({ title, body, goesOnTo }: Page): string {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${title}</title>
        ${goesOnTo === undefined ? [] : html`<meta http-equiv="refresh" content="0; url=${goesOnTo}" />`}
        ${styleElement}
      </head>
      <body>
        <main>${body}</main>
      </body>
    </html> `.markup;
}

/**
 * The headers of a page: it runs no script, cannot be framed or stored, and its form may lead only to this server or to
 * the waiting client. Browsers check `form-action` again at each redirect of the form.
 */
export function pageHeaders({ returnsTo, isReferrer }: Page): Record<string, string> {
  const formAction = ["'self'", ...(returnsTo === undefined ? [] : [cspSource(returnsTo)])].join(' ');
  const policy = [
    "default-src 'none'",
    `style-src 'sha256-${styleHash}'`,
    `form-action ${formAction}`,
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ];
  return {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': policy.join('; '),
    'x-frame-options': 'DENY',
    'x-content-type-options': 'nosniff',
    // Not `no-referrer`, with which browsers hide the origin of a form from its own server too.
    'referrer-policy': isReferrer === true ? 'origin' : 'same-origin',
    'cache-control': 'no-store',
  };
}

interface PlainPage {
  readonly title: string;
  readonly heading: string;
  readonly lines: readonly (string | { readonly code: string })[];
  readonly note: string;
}

/** A page of text alone. */
export function plainPage({ title, heading, lines, note }: PlainPage): Page {
  const paragraphs = lines.map((line) =>
    typeof line === 'string' ? html`<p>${line}</p>` : html`<p><code>${line.code}</code></p>`,
  );
  return {
    title,
    body: html`<h1>${heading}</h1>
      ${paragraphs}
      <p class="note">${note}</p>`,
  };
}

/** Answers with a page. */
export function sendPage(response: ServerResponse, status: number, page: Page): void {
  response.writeHead(status, pageHeaders(page)).end(document(page));
}

/** {@link sendPage} where oidc-provider answers. */
export function showPage(ctx: { set(headers: Record<string, string>): void; body: unknown }, page: Page): void {
  ctx.set(pageHeaders(page));
  ctx.body = document(page);
}

/** Sends the browser on, with a GET. */
export function redirect(response: ServerResponse, location: string): void {
  response.writeHead(303, { location, 'cache-control': 'no-store' }).end();
}

// The grammar of CSP has no IPv6 addresses. For the loopback address, only the scheme can be given.
function cspSource(url: string): string {
  const { hostname, origin, protocol } = new URL(url);
  return hostname.startsWith('[') ? protocol : origin;
}

/** Text that is already HTML. Only `html` makes it, so that no value reaches a page unescaped by oversight. */
export interface Markup {
  readonly markup: string;
}

/** A template literal as HTML: escapes every value that is not `Markup`. */
export function html(parts: TemplateStringsArray, ...values: readonly (Markup | readonly Markup[] | string)[]): Markup {
  return { markup: String.raw({ raw: parts }, ...values.map(render)) };
}

function render(value: Markup | readonly Markup[] | string): string {
  if (typeof value === 'string') return escapeHtml(value);
  return 'markup' in value ? value.markup : value.map(({ markup }) => markup).join('');
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => entities[character] ?? character);
}
