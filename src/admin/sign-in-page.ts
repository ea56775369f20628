import { contentPolicy } from './content-policy.ts';

const style = `
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

// The token goes as a header: no other origin can send one without asking, and the server reads no form.
const script = `
const form = document.querySelector('form');
const token = document.querySelector('#token');
const problem = document.querySelector('[role=alert]');
const button = document.querySelector('button');
async function signIn() {
  // What a header cannot carry is not the token either.
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

/** The content security policy of {@link signInPage}: only what is in the page itself runs, and it asks only us. */
export const signInPolicy = contentPolicy(script, style);

/** The page on which an operator signs in: it turns the admin token into a session's cookie. */
export const signInPage = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>Sign in · Sallyport</title><meta name="viewport" content="width=device-width"><style>${style}</style></head>
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
<script>${script}</script>
</body>
</html>
`;
