import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { noFields } from '../../../../src/core/gateway/listen/call.ts';
import type { Call } from '../../../../src/core/model/call.ts';
import { decisiveFields } from '../../../../src/core/model/fields.ts';

/** What was answered. */
interface Recorded {
  readonly status: number;
  readonly headers: OutgoingHttpHeaders;
  readonly body: string;
}

/** A call that was read whole, and what becomes of it instead of being sent; undefined while nothing was answered. */
export function recorded(
  method: string,
  target: string,
  headers: Readonly<Record<string, string>> = {},
): { readonly call: Call; readonly answer: () => Recorded | undefined } {
  const [path, query = ''] = target.split(/(?=\?)/);
  let head: Pick<Recorded, 'status' | 'headers'>;
  let answer: Recorded | undefined;
  const response = {
    shouldKeepAlive: true,
    writeHead(status: number, _phrase: string, headers: OutgoingHttpHeaders) {
      head = { status, headers };
    },
    end(body: string | Buffer) {
      answer = { ...head, body: body.toString() };
    },
  };
  const call = {
    id: 'request-1',
    decision: 'decision-1',
    method,
    path,
    query,
    fields: {
      ...noFields,
      ...Object.fromEntries(Object.entries(decisiveFields).map(([member, name]) => [member, headers[name]])),
      raw: Object.entries(headers).flat(),
      names: Object.keys(headers),
    },
    request: { complete: true, headers } as unknown as IncomingMessage,
    response: response as unknown as ServerResponse,
  } as unknown as Call;
  return { call, answer: () => answer };
}
