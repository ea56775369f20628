/** The cookies of one browser. */
export interface CookieJar {
  /** The `Cookie` header of a request. */
  header(url: URL): string;
  /** Stores or deletes cookies according to a response's `Set-Cookie` headers. */
  store(url: URL, setCookies: readonly string[]): void;
}

/** The part of RFC 6265 that one server needs: names, hosts, paths, and expiry as deletion. */
export function createCookieJar(): CookieJar {
  const cookies = new Map<string, { readonly host: string; readonly path: string; readonly pair: string }>();
  return {
    header: ({ host, pathname }) =>
      [...cookies.values()]
        .filter((cookie) => cookie.host === host && pathname.startsWith(cookie.path))
        .map(({ pair }) => pair)
        .join('; '),
    store({ host }, setCookies) {
      for (const setCookie of setCookies) {
        const [pair = '', ...attributes] = setCookie.split(';').map((part) => part.trim());
        const path = valueOf('path', attributes) ?? '/';
        const expires = valueOf('expires', attributes);
        const maxAge = valueOf('max-age', attributes);
        const key = `${host} ${path} ${pair.split('=', 1)[0]}`;
        if (maxAge === '0' || (expires !== undefined && Date.parse(expires) <= Date.now())) cookies.delete(key);
        else cookies.set(key, { host, path, pair });
      }
    },
  };
}

function valueOf(name: string, attributes: readonly string[]): string | undefined {
  return attributes.find((attribute) => attribute.toLowerCase().startsWith(`${name}=`))?.slice(name.length + 1);
}
