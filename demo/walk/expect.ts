import assert from 'node:assert/strict';

import type { Finding } from './report.ts';
import type { Seen } from './recorder.ts';

/** An expected refusal: its status, and its whole challenge up to an `error_description`; null: no challenge. */
export interface Refused {
  readonly status: number;
  readonly challenge: string | null;
}

/** The one exchange of this method and path. */
export function only(seen: readonly Seen[], method: string, path: string): Seen {
  const found = seen.filter((each) => each.method === method && each.url.pathname === path);
  const [first] = found;
  assert.equal(found.length, 1, `${method} ${path} is sent once`);
  assert.ok(first);
  return first;
}

/** Asserts an answer's status and its challenge, byte for byte; a description may follow. */
export function expectRefusal(response: { status: number; headers: Headers }, { status, challenge }: Refused): Finding {
  const found = response.headers.get('www-authenticate');
  assert.equal(response.status, status, 'status');
  assert.equal(found?.replace(/, error_description="[^"]*"$/, '') ?? null, challenge, 'WWW-Authenticate');
  return { status, challenge: found };
}

/** Asserts an event stream as in R-134: 200, chunked, with one event named `message`. Returns its JSON. */
export async function expectEventStream({ status, headers, body }: Seen): Promise<unknown> {
  assert.equal(status, 200, 'status');
  assert.equal(headers.get('content-type'), 'text/event-stream', 'Content-Type');
  assert.equal(headers.get('transfer-encoding'), 'chunked', 'Transfer-Encoding');
  assert.equal(headers.get('connection'), 'keep-alive', 'Connection');
  const frame = await body;
  const [, json] = /^event: message\ndata: (.*)\n\n$/.exec(frame) ?? [];
  assert.ok(json, `one event named message, not ${JSON.stringify(frame)}`);
  return JSON.parse(json);
}
