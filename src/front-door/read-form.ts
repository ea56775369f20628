import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { errors } from 'oidc-provider';

/** A form of our own pages is far shorter. */
const MAX_BYTES = 16_384;

/** Reads a form. Throws for a longer one, for one of unknown length, and for another type of body. */
export async function readForm(request: IncomingMessage): Promise<URLSearchParams> {
  const { 'content-type': type, 'content-length': length } = request.headers;
  if (type?.split(';')[0] !== 'application/x-www-form-urlencoded') throw new errors.InvalidRequest('not a form');
  if (!(Number(length) <= MAX_BYTES)) throw new errors.InvalidRequest('the form is too long', 413);
  return new URLSearchParams(await text(request));
}
