/** Requests to the admin listener. @module */

import {
  type DraftAnswer,
  DRAFT,
  type DraftRequest,
  type AdminEndpoint,
} from '../src/capabilities/console/messages.ts';

/** The session has ended, or the token was replaced. */
export class SignedOut extends Error {
  override readonly name = 'SignedOut';
}

/** An answer that is neither a success nor the end of the session. */
export class Refused extends Error {
  override readonly name = 'Refused';
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** Reads JSON from the listener. @throws {SignedOut} @throws {Refused} @throws {TypeError} if it does not answer. */
export async function read<Answer>({ path }: AdminEndpoint<Answer>, query = new URLSearchParams()): Promise<Answer> {
  return (await answered(await fetch(query.size === 0 ? path : `${path}?${query}`))) as Answer;
}

/** Tries a draft. The header keeps other origins from sending it. Throws as {@link read}. */
export async function tryDraft(draft: DraftRequest, signal: AbortSignal): Promise<DraftAnswer> {
  const headers = { 'content-type': 'application/json', 'x-sallyport-console': '1' };
  const body = JSON.stringify(draft);
  return (await answered(await fetch(DRAFT, { method: 'POST', headers, body, signal }))) as DraftAnswer;
}

async function answered(response: Response): Promise<unknown> {
  if (response.status === 401 || response.status === 403) throw new SignedOut();
  if (!response.ok) throw new Refused(response.status, (await response.text()).trim());
  return await response.json();
}
