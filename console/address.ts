import { useEffect, useState } from 'preact/hooks';

/** The address of the page: it names the view, its filters, and the open decision. */
export interface Address {
  readonly path: string;
  readonly query: URLSearchParams;
}

const CHANGED = 'sallyport:address';

/** The current address. The component renders again when it changes. */
export function useAddress(): Address {
  const [address, setAddress] = useState(current);
  useEffect(() => {
    const update = (): void => setAddress(current());
    addEventListener('popstate', update);
    addEventListener(CHANGED, update);
    return () => {
      removeEventListener('popstate', update);
      removeEventListener(CHANGED, update);
    };
  }, []);
  return address;
}

function current(): Address {
  return { path: location.pathname, query: new URLSearchParams(location.search) };
}

/** Goes to an address of the console. @param isReplaced Whether the history keeps no entry of the current one. */
export function go(href: string, isReplaced = false): void {
  if (isReplaced) history.replaceState(null, '', href);
  else history.pushState(null, '', href);
  dispatchEvent(new Event(CHANGED));
}

/** The current path with some members of the query set, or removed if they are empty. */
export function withQuery(changes: Readonly<Record<string, string | undefined>>, path = location.pathname): string {
  const query = new URLSearchParams(location.search);
  for (const [name, value = ''] of Object.entries(changes)) {
    if (value === '') query.delete(name);
    else query.set(name, value);
  }
  return query.size === 0 ? path : `${path}?${query}`;
}

/** Follows a link within the page, unless the reader wants another tab. */
export function followLink(event: MouseEvent): void {
  const link = event.currentTarget as HTMLAnchorElement;
  if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  go(link.pathname + link.search);
}
