import { basicCredentials } from './client-authentication.ts';
import { boundedAnswer } from '../../core/lib/http/bodies.ts';
import { ownFetch } from './own-fetch.ts';
import { ownMember } from '../../core/lib/json/own-member.ts';
import { parsedJson } from '../../core/lib/json/parsed.ts';

/** A client with a secret, as configured. */
interface SecretClient {
  readonly clientId: string;
  readonly clientAuth: 'client_secret_basic' | 'client_secret_post';
  readonly clientSecret: string;
}

/** A form that a server answers by whether it accepts the client. */
interface ClientTrial {
  readonly endpoint: string;
  readonly form: URLSearchParams;
  /** Whether an answer shows that the server accepts the client. `error` is a member of the answer. */
  readonly isAccepted: (status: number, error: unknown) => boolean;
}

interface Spelling {
  readonly headers: Readonly<Record<string, string>>;
  readonly parameters: Readonly<Record<string, string>>;
  readonly remedy: string;
}

/** What to set where an endpoint refuses a secret, if none of the other spellings is accepted. */
const CHECK_SECRET = 'check client_id, client_auth and the secret: no spelling of them is accepted';

/**
 * What to set where `endpoint` refuses the secret of a client: `doctor` sends the same secret there in the other ways
 * that servers read it, RFC 6749 §2.3.1, and names the one that is accepted.
 */
export async function remedyForSecret(client: SecretClient, trial: ClientTrial): Promise<string> {
  for (const spelling of otherSpellings(client)) {
    if (await isAccepted(spelling, trial)) return spelling.remedy;
  }
  return CHECK_SECRET;
}

function otherSpellings({ clientId, clientAuth, clientSecret }: SecretClient): readonly Spelling[] {
  const inHeader = (authorization: string, remedy: string): Spelling => ({
    headers: { authorization },
    parameters: {},
    remedy,
  });
  const inBody: Spelling = {
    headers: {},
    parameters: { client_id: clientId, client_secret: clientSecret },
    remedy: 'it accepts the same secret in the body: set client_auth: client_secret_post',
  };
  const encoded = basicCredentials(clientId, clientSecret);
  const plain = `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`;
  const undecoded =
    'it does not form-decode Basic credentials (RFC 6749 §2.3.1): ' +
    'choose a client_id and a secret of letters and digits';
  return [
    clientAuth === 'client_secret_basic'
      ? inBody
      : inHeader(encoded, 'it accepts the same secret in the header: set client_auth: client_secret_basic'),
    ...(plain === encoded ? [] : [inHeader(plain, undecoded)]),
  ];
}

const TIMEOUT_MS = 5000;
const MAX_BYTES = 64 * 1024;

async function isAccepted({ headers, parameters }: Spelling, { endpoint, form, ...trial }: ClientTrial) {
  const body = new URLSearchParams(form);
  for (const [name, value] of Object.entries(parameters)) body.set(name, value);
  try {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const accept = 'application/json';
    const answer = await ownFetch(endpoint, {
      method: 'POST',
      headers: { accept, ...headers },
      body,
      redirect: 'manual',
      signal,
    });
    const text = await (await boundedAnswer(answer, MAX_BYTES)).text();
    return trial.isAccepted(answer.status, ownMember(parsedJson(text), 'error'));
  } catch {
    // The server answered the first spelling. What it does not answer is not accepted.
    return false;
  }
}
