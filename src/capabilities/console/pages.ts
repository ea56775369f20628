/**
 * The pages of the console at the admin listener, and what they ask.
 *
 * @module
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { type AdminAnswer, type AdminPages, type AdminParts, AdminRefusal } from '../admin.ts';
import { consoleRequests } from './console.ts';
import { views } from './messages.ts';
import { readStaticFiles } from './static-files.ts';

/** Where the files of the pages are. They hold nothing of this gateway, and the sign-in page needs them. */
const ASSETS = '/console/assets/';

const NOT_BUILT =
  'The console was not built: run `npm run console` in the checkout, or use the package or the image.\n';

/** Opens the console. */
export async function openConsole(parts: AdminParts): Promise<AdminPages> {
  const files = await readStaticFiles();
  const requests = consoleRequests(parts);

  const page =
    (name: string): AdminAnswer =>
    (request, response) => {
      if (!files.serve(name, request, response)) throw new AdminRefusal(503, NOT_BUILT);
    };

  return {
    gets: new Map([...views.map(({ path }) => [path, page('index.html')] as const), ...requests.gets]),
    posts: requests.posts,
    open(path) {
      if (path === '/sign-in') return page('sign-in.html');
      const name = path.startsWith(ASSETS) ? path.slice(ASSETS.length) : '';
      return files.has(name) ? page(name) : undefined;
    },
    signIn: (request: IncomingMessage, response: ServerResponse) => files.serve('sign-in.html', request, response),
    close: () => requests.close(),
  };
}
