import type { IncomingMessage } from 'node:http';
import { errors } from 'oidc-provider';

/** A form of our own pages is far shorter. */
const MAX_BYTES = 16_384;

/** Reads a form. Throws for a longer one, and for another type of body. */
export async function readForm(request: IncomingMessage): Promise<URLSearchParams> {
  if (request.headers['content-type']?.split(';')[0] !== 'application/x-www-form-urlencoded') {
    throw new errors.InvalidRequest('not a form');
  }
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_BYTES) throw new errors.InvalidRequest('the form is too long', 413);
    chunks.push(chunk);
  }
  return new URLSearchParams(Buffer.concat(chunks).toString());
}
