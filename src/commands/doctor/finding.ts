/** @module What the examinations of `doctor` share: their findings, and a request to a server. */

import { boundedAnswer } from '../../core/lib/http/bodies.ts';
import { ownFetch } from '../../tokens/servers/own-fetch.ts';
import { ownMember } from '../../core/lib/json/own-member.ts';
import { parsedJson } from '../../core/lib/json/parsed.ts';

/** A member of the JSON object at `url`; undefined where a server answers no such object, or not at all. */
export async function memberAt(url: string, name: string): Promise<unknown> {
  try {
    const { status, text } = await fetchText(url);
    return status === 200 ? ownMember(parsedJson(text), name) : undefined;
  } catch {
    return undefined;
  }
}

/** The answer of a server. */
export interface TextAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

interface TextRequest {
  /** Default: GET. */
  readonly method?: 'GET' | 'HEAD' | 'POST';
  readonly json?: object;
  readonly fields?: Headers;
  /** Default: as a request of the gateway's own, which a proxy may lead. */
  readonly fetchBy?: typeof fetch;
}

const TIMEOUT_MS = 5000;
const MAX_BYTES = 256 * 1024;

/**
 * Requests `url` without credentials but those in `fields`, and follows no redirect.
 *
 * @throws {Error} if there is no answer in time, or one of more than 256 KiB. Its cause has the code of the system.
 */
export async function fetchText(
  url: string,
  { method = 'GET', json, fields = new Headers(), fetchBy = ownFetch }: TextRequest = {},
): Promise<TextAnswer> {
  if (json !== undefined) fields.set('content-type', 'application/json');
  const response = await fetchBy(url, {
    method,
    redirect: 'manual',
    signal: AbortSignal.timeout(TIMEOUT_MS),
    headers: fields,
    ...(json !== undefined && { body: JSON.stringify(json) }),
  });
  const { status, headers } = response;
  return { status, headers, text: await (await boundedAnswer(response, MAX_BYTES)).text() };
}
