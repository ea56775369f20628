/**
 * A simulated browser with its user, for the walk and the tests: keeps cookies, follows redirects, reads the
 * authorization server's real pages and fills in their forms.
 *
 * @module
 */
import { createCookieJar } from './cookie-jar.ts';

/** A browser with its cookies. If it is used again, its user is still signed in. */
export interface Browser {
  /** The titles of the pages that were shown, in their order. */
  readonly pages: readonly string[];
  /** Follows redirects until a page or `stopAt`, the callback URL of the client. */
  open(url: URL, stopAt: URL, form?: URLSearchParams): Promise<URL | ShownPage>;
  /** Fetches one address, with its cookies, and follows nothing. */
  fetch(url: URL, headers?: Readonly<Record<string, string>>, form?: URLSearchParams | string): Promise<Response>;
}

/** A page that waits for a decision. */
interface ShownPage {
  readonly url: URL;
  readonly title: string;
  readonly html: string;
}

/** A sign-in and its answers. */
export interface SignIn {
  /** The URL to which the client sends its user. */
  readonly authorizationUrl: URL | string;
  /** The name of an account. */
  readonly user: string;
  /** Default: the password on the page. */
  readonly password?: string;
  /** The answer to the consent page; default true. */
  readonly approve?: boolean;
  /** Default: a new browser, without a session. */
  readonly browser?: Browser;
}

/** Enough for every flow; more steps are a bug. */
const maxSteps = 12;

/** Opens a new browser. */
export function createBrowser(): Browser {
  const jar = createCookieJar();
  const pages: string[] = [];
  const fetchOnce: Browser['fetch'] = async (url, headers = {}, body) => {
    const response = await fetch(url, {
      redirect: 'manual',
      headers: { accept: 'text/html', cookie: jar.header(url), ...headers },
      ...(body && { method: 'POST', body }),
    });
    jar.store(url, response.headers.getSetCookie());
    return response;
  };
  return {
    pages,
    fetch: fetchOnce,
    async open(start, stopAt, form) {
      let url = start;
      let body = form;
      for (let step = 0; step < maxSteps; step += 1) {
        if (sameEndpoint(url, stopAt)) return url;
        const response = await fetchOnce(url, {}, body);
        const html = await response.text();
        const location = response.headers.get('location') ?? refreshOf(html);
        if (location === null) return shown({ url, html, title: textOf('title', html) });
        url = new URL(location, url);
        body = undefined;
      }
      throw new Error(`too many redirects, the last to ${url.href}`);
    },
  };

  function shown(page: ShownPage): ShownPage {
    pages.push(page.title);
    return page;
  }
}

/**
 * Signs in if the page asks for it, answers the consent page, and returns the callback URL of the client, with `code`,
 * `state` and `iss`, or `error`.
 *
 * @throws the text of any other page.
 */
export async function signIn({
  authorizationUrl,
  approve = true,
  browser = createBrowser(),
  ...person
}: SignIn): Promise<URL> {
  const start = new URL(authorizationUrl);
  const stopAt = new URL(start.searchParams.get('redirect_uri') ?? 'about:blank');
  let at = await browser.open(start, stopAt);
  for (let step = 0; step < maxSteps; step += 1) {
    if (at instanceof URL) return at;
    at = await browser.open(at.url, stopAt, filledIn(at, person, approve));
  }
  throw new Error('too many pages');
}

function filledIn({ html, url }: ShownPage, { user, password }: Pick<SignIn, 'password' | 'user'>, approve: boolean) {
  // A page with an error may still have its form. A user would read the error first.
  const alert = textOf('p[^>]*role="alert"', html);
  if (alert !== '') throw new Error(`${url.pathname}: ${alert}`);
  if (html.includes('name="password"')) {
    const shownPassword = textOf(`code data-password-of="${user}"`, html);
    return new URLSearchParams({ username: user, password: password ?? shownPassword, decision: 'sign-in' });
  }
  if (html.includes('name="address"')) {
    return new URLSearchParams({ address: user, decision: approve ? 'approve' : 'deny' });
  }
  if (html.includes('value="approve"')) return new URLSearchParams({ decision: approve ? 'approve' : 'deny' });
  throw new Error(`${url.href}: neither a login nor a consent page: ${html.slice(0, 200)}`);
}

/** Where a page sends the browser by itself, HTML §4.2.5.3. */
function refreshOf(html: string): string | null {
  const [, url] = /<meta http-equiv="refresh" content="0; url=([^"]*)"/.exec(html) ?? [];
  return url === undefined ? null : unescaped(url);
}

function textOf(openingTag: string, html: string): string {
  return unescaped(new RegExp(`<${openingTag}>([^<]*)<`).exec(html)?.[1] ?? '');
}

function unescaped(text: string): string {
  return text
    .replaceAll('&#39;', "'")
    .replaceAll('&quot;', '"')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&');
}

function sameEndpoint(url: URL, other: URL): boolean {
  return url.origin === other.origin && url.pathname === other.pathname;
}
