/** @module The gateway's own questions to an upstream, which have no caller: those of commands and of locks. */

import type { Upstream } from '../core/model/route.ts';

/** The URL of a route's server, as commands and locks ask it; `/` for the root. */
export function serverUrl({ origin, path }: Upstream): string {
  return origin + (path || '/');
}

/** The header fields of the gateway's own questions to an upstream, which have no caller. */
export function questionHeaders({ ownFields }: Pick<Upstream, 'ownFields'>): Headers {
  const fields: string[] = [];
  ownFields?.addTo(fields, undefined);
  const headers = new Headers();
  for (let i = 0; i < fields.length; i += 2) headers.set(fields[i] as string, fields[i + 1] as string);
  return headers;
}

/** Whether the gateway's own questions to an upstream lack header fields, because they have no caller. */
export function lacksFields(upstream: Pick<Upstream, 'ownFields'>): boolean {
  return [...questionHeaders(upstream)].length < (upstream.ownFields?.names.size ?? 0);
}
