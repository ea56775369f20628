import { createHash } from 'node:crypto';
import type { Config } from '../model/config.ts';

/** A page of the admin listener, with one inline script and one inline style. */
export interface HtmlPage {
  readonly html: string;
  /** The content security policy: only the page's own script runs, and it may send requests to this listener alone. */
  readonly policy: string;
}

/** What the console shows of a route; nothing of it is secret. */
export interface RouteView {
  readonly name: string;
  readonly path: string;
  readonly protocol: string;
  readonly policy: string | undefined;
  readonly upstream: string;
}

/** The routes of a configuration, as the console shows them. */
export function routesOf({ routes }: Config): readonly RouteView[] {
  return routes.map(({ name, path, protocol, policy, upstream, public: open }) => ({
    name,
    path,
    protocol,
    policy: open ? '(public)' : policy?.name,
    upstream: upstream.origin + upstream.path,
  }));
}

const consoleStyle = `
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; }
body { margin: 2rem auto; max-width: 100rem; padding: 0 1rem; }
h1 { font-size: 1.3rem; } h2 { font-size: 1rem; margin: 2rem 0 .5rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .25rem .75rem .25rem 0; border-bottom: 1px solid #8884; vertical-align: top; }
td { overflow-wrap: break-word; } code { font-size: .9em; }
.bad { color: #c33; } .note { opacity: .7; }
`;

// Values that callers chose are inserted as text, never as markup.
const consoleScript = `
const tables = {
  routes: ['name', 'path', 'protocol', 'policy', 'upstream'],
  servers: ['name', 'issuer', 'state', 'problem'],
  denials: [
    'time', 'route', 'reason', 'detail', 'subject',
    'client_id', 'method', 'tool', 'needed_scope', 'rule', 'decision',
  ],
};
const cell = (kind, text) => Object.assign(document.createElement(kind), { textContent: text ?? '' });
const row = (kind, texts) => {
  const tr = document.createElement('tr');
  tr.append(...texts.map((text) => cell(kind, text)));
  return tr;
};
async function show() {
  const answer = await fetch('console.json');
  // The session has ended: the same address shows the sign-in page.
  if (answer.status === 401) location.reload();
  const seen = await answer.json();
  document.getElementById('config').textContent = seen.config;
  const problems = document.getElementById('problems');
  problems.replaceChildren(...seen.problems.map((problem) => cell('p', problem)));
  for (const [name, columns] of Object.entries(tables)) {
    const table = document.getElementById(name);
    const rows = seen[name].map((each) => row('td', columns.map((column) => each[column])));
    table.replaceChildren(row('th', columns), ...rows);
  }
}
const again = () => show().catch(() => {});
again();
setInterval(again, 5000);
`;

/** The console: the configuration in force, the authorization servers, and the newest denials. */
export const consolePage: HtmlPage = {
  policy: contentPolicy(consoleScript, consoleStyle),
  html: `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8"><title>Sallyport</title>
<meta name="viewport" content="width=device-width">
<style>${consoleStyle}</style>
</head>
<body>
<h1>Sallyport</h1>
<p class="note">configuration <code id="config"></code></p>
<div id="problems" class="bad"></div>
<h2>Newest denials</h2>
<p class="note">sallyport explain --decision ID --log FILE explains one of them.</p>
<table id="denials"></table>
<h2>Authorization servers</h2>
<table id="servers"></table>
<h2>Routes</h2>
<table id="routes"></table>
<script>${consoleScript}</script>
</body>
</html>
`,
};

const signInStyle = `
:root { color-scheme: light dark; --ink: light-dark(#1b1f24, #e6e8eb); --muted: light-dark(#57606a, #9aa4b0);
  --surface: light-dark(#fff, #14171a); --line: light-dark(#818b98, #6e7781); --accent: light-dark(#0a5bd3, #6cb0ff);
  --on-accent: light-dark(#fff, #0b1220); --refused: light-dark(#b3261e, #ff8f87); }
* { box-sizing: border-box; }
body { margin: 0; background: var(--surface); color: var(--ink); font: 14px/20px system-ui, sans-serif; }
main { max-width: 360px; margin: 15vh auto 0; padding: 0 16px; }
h1 { margin: 0 0 4px; font-size: 18px; line-height: 24px; }
p { margin: 0 0 20px; color: var(--muted); }
label { display: block; margin-bottom: 4px; font-weight: 600; }
input, button { width: 100%; height: 36px; font: inherit; border-radius: 4px; }
input { padding: 0 8px; color: inherit; background: transparent; border: 1px solid var(--line); }
button { margin-top: 12px; border: 0; color: var(--on-accent); background: var(--accent); font-weight: 600; }
button:disabled { opacity: .6; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
[role=alert] { min-height: 20px; margin: 12px 0 0; color: var(--refused); }
code { font: 13px/20px ui-monospace, monospace; }
`;

// The token is sent in a header, which another origin cannot send without a preflight. The server reads no form.
const signInScript = `
const form = document.querySelector('form');
const token = document.querySelector('#token');
const problem = document.querySelector('[role=alert]');
const button = document.querySelector('button');
async function signIn() {
  // A text that a header cannot carry is not the token either.
  if (!/^[!-~]+$/.test(token.value)) return 'The token is wrong.';
  const answer = await fetch('/sign-in', { method: 'POST', headers: { authorization: 'Bearer ' + token.value } });
  if (answer.ok) return '';
  const wait = answer.headers.get('retry-after');
  return wait === null ? await answer.text() : 'Too many wrong tokens. Try again in ' + wait + ' s.';
}
form.addEventListener('submit', async (event) => {
  event.preventDefault();
  button.disabled = true;
  problem.textContent = '';
  const message = await signIn().catch(() => 'The gateway does not answer.');
  button.disabled = false;
  if (message === '') {
    if (location.pathname === '/sign-in') location.replace('/');
    else location.reload();
    return;
  }
  problem.textContent = message;
  token.select();
});
`;

/** The page on which an operator signs in: it turns the admin token into a session's cookie. */
export const signInPage: HtmlPage = {
  policy: contentPolicy(signInScript, signInStyle),
  html: `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8"><title>Sign in · Sallyport</title>
<meta name="viewport" content="width=device-width">
<style>${signInStyle}</style>
</head>
<body>
<main>
<h1>Sallyport</h1>
<p>Sign in with the token of <code>admin.token</code> in gateway.yaml. You stay signed in for 8 hours.</p>
<form method="post" action="/sign-in">
<input name="username" autocomplete="username" value="sallyport" hidden>
<label for="token">Admin token</label>
<input id="token" type="password" autocomplete="current-password" required autofocus spellcheck="false">
<button>Sign in</button>
<p role="alert"></p>
</form>
<noscript>Signing in needs JavaScript. Programs send <code>Authorization: Bearer</code>.</noscript>
</main>
<script>${signInScript}</script>
</body>
</html>
`,
};

function contentPolicy(script: string, style: string): string {
  return [
    "default-src 'none'",
    `script-src ${sha256(script)}`,
    `style-src ${sha256(style)}`,
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}

function sha256(text: string): string {
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
}
