/** Requests to the admin listener. @module */

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
export async function read<Answer>(path: string): Promise<Answer> {
  return (await answered(await fetch(path))) as Answer;
}

/** Sends JSON and reads the answer. The header keeps other origins from sending it. Throws as {@link read}. */
export async function send<Answer>(path: string, body: unknown, signal: AbortSignal): Promise<Answer> {
  const headers = { 'content-type': 'application/json', 'x-sallyport-console': '1' };
  return (await answered(await fetch(path, { method: 'POST', headers, body: JSON.stringify(body), signal }))) as Answer;
}

async function answered(response: Response): Promise<unknown> {
  if (response.status === 401 || response.status === 403) throw new SignedOut();
  if (!response.ok) throw new Refused(response.status, (await response.text()).trim());
  return await response.json();
}
