import { contentPolicy } from './content-policy.ts';
import type { Config } from '../model/config.ts';

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

const style = `
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; }
body { margin: 2rem auto; max-width: 100rem; padding: 0 1rem; }
h1 { font-size: 1.3rem; } h2 { font-size: 1rem; margin: 2rem 0 .5rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .25rem .75rem .25rem 0; border-bottom: 1px solid #8884; vertical-align: top; }
td { overflow-wrap: break-word; } code { font-size: .9em; }
.bad { color: #c33; } .note { opacity: .7; }
`;

// Everything that callers chose comes in as text, never as markup.
const script = `
const tables = {
  routes: ['name', 'path', 'protocol', 'policy', 'upstream'],
  servers: ['name', 'issuer', 'state', 'problem'],
  denials: ['time', 'route', 'reason', 'detail', 'subject', 'client_id', 'method', 'tool', 'needed_scope', 'rule', 'decision'],
};
const cell = (kind, text) => Object.assign(document.createElement(kind), { textContent: text ?? '' });
const row = (kind, texts) => { const tr = document.createElement('tr'); tr.append(...texts.map((text) => cell(kind, text))); return tr; };
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
    table.replaceChildren(row('th', columns), ...seen[name].map((each) => row('td', columns.map((column) => each[column]))));
  }
}
const again = () => show().catch(() => {});
again();
setInterval(again, 5000);
`;

/** Only what is in the page itself runs, and it may ask nobody but this listener. */
export const consolePolicy = contentPolicy(script, style);

/** The console's one page: what serves, who is behind it, and the newest denials. */
export const consolePage = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>Sallyport</title><meta name="viewport" content="width=device-width"><style>${style}</style></head>
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
<script>${script}</script>
</body>
</html>
`;
