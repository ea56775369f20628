import type { IncomingMessage } from 'node:http';
import { parsedJson } from '../lib/json/parsed.ts';
import { AdminRefusal } from './access.ts';

/** Reads the JSON that an operator sent; undefined if it is none. @throws {AdminRefusal} 413. */
export async function operatorBody(request: IncomingMessage, maxBytes: number): Promise<unknown> {
  const chunks: Buffer[] = [];
  let length = 0;
  // A destroyed request could not be answered.
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > maxBytes)
      throw new AdminRefusal(413, `The body has more than ${maxBytes} bytes.\n`, { connection: 'close' });
    chunks.push(chunk);
  }
  return parsedJson(Buffer.concat(chunks).toString());
}
