/** The page on which an operator signs in: it turns the admin token into the cookie of a session. @module */

const form = document.querySelector('form') as HTMLFormElement;
const token = document.querySelector('#token') as HTMLInputElement;
const problem = document.querySelector('[role=alert]') as HTMLElement;
const button = document.querySelector('button') as HTMLButtonElement;

/** Signs in; returns what went wrong, or `''`. The token is in a header: another origin needs a preflight to send it. */
async function signIn(): Promise<string> {
  // A text that a header cannot carry is not the token either.
  if (!/^[!-~]+$/.test(token.value)) return 'The token is wrong.';
  const answer = await fetch('/sign-in', { method: 'POST', headers: { authorization: `Bearer ${token.value}` } });
  if (answer.ok) return '';
  const wait = answer.headers.get('retry-after');
  return wait === null ? await answer.text() : `Too many wrong tokens. Try again in ${wait} s.`;
}

async function submit(): Promise<void> {
  button.disabled = true;
  problem.textContent = '';
  const message = await signIn().catch(() => 'The gateway does not answer.');
  button.disabled = false;
  if (message !== '') {
    problem.textContent = message;
    token.select();
  } else if (location.pathname === '/sign-in') location.replace('/');
  else location.reload();
}

form.addEventListener('submit', (event) => {
  event.preventDefault();
  void submit();
});
