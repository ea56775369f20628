import { knownRedirects } from '../model/quirks/clients.ts';

/** What each known client stands for in `front_door.clients.registration.redirect_uris`, a line each. */
export function knownClientsText(names: Iterable<string> = knownRedirects.keys()): string {
  return [...names].map((name) => `known:${name}: ${knownRedirects.get(name)?.join(' ') ?? ''}\n`).join('');
}
