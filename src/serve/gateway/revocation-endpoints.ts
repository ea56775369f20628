import { createQuota } from '../../lib/fair-share.ts';
import { isSameSecret } from '../../lib/digest.ts';
import type { Call } from '../../model/call.ts';
import type { Config } from '../../model/config.ts';
import { Denial } from '../../model/denial.ts';
import type { GrantedCall } from '../../model/grant.ts';
import type { EventSource, RevocationAnswer, RevocationReceiver } from '../../model/revocation.ts';
import { bodyQuotaBytes, readBody } from '../../pipeline/listen/body.ts';
import { answer } from '../../pipeline/respond/answer.ts';

/** The longest SET, and the longest body of the endpoint. */
const MAX_BYTES = 64 * 1024;
const RETRY_SECONDS = 5;

/** What the gateway itself answers for `revocation`. */
export class RevocationEndpoints {
  readonly #receive: RevocationReceiver;
  readonly #byPath: ReadonlyMap<string | undefined, EventSource>;
  readonly #room = createQuota(bodyQuotaBytes(MAX_BYTES));

  /** @param receive Asks the process that keeps revocations. */
  constructor({ revocation }: Config, receive: RevocationReceiver) {
    this.#receive = receive;
    this.#byPath = new Map(Array.from(revocation?.sources.values() ?? [], (source) => [source.path, source]));
  }

  /** Takes a SET that a transmitter pushes, RFC 8935; false for any other call. */
  push(call: Call): boolean {
    const source = this.#byPath.get(call.path);
    if (source === undefined) return false;
    this.#take(call, source)
      .catch((error: unknown) => answerTo(error))
      .then((given) => send(call, given))
      .catch(() => call.response.destroy());
    return true;
  }

  /** Answers a call of the endpoint that was allowed. */
  async revoke({ call, grant: { principal } }: GrantedCall): Promise<void> {
    if (mediaTypeOf(call) !== 'application/json')
      return send(call, refused('invalid_request', 'Content-Type is not application/json'));
    const body = (await readBody(call, MAX_BYTES, this.#room)).toString('utf8');
    send(call, await this.#receive({ ask: 'endpoint', body, by: principal?.clientId ?? principal?.subject }));
  }

  async #take(call: Call, { name, authorization }: EventSource): Promise<RevocationAnswer> {
    if (call.method !== 'POST') return { status: 405 };
    if (authorization !== undefined && !isSameSecret(call.fields.authorization ?? '', authorization))
      return refusal('authentication_failed', 'Authorization is not the one that was agreed');
    if (mediaTypeOf(call) !== 'application/secevent+jwt')
      return refusal('invalid_request', 'Content-Type is not application/secevent+jwt');
    const set = (await readBody(call, MAX_BYTES, this.#room)).toString('latin1').trim();
    return this.#receive({ ask: 'push', source: name, set });
  }
}

function mediaTypeOf({ request }: Call): string | undefined {
  return request.headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase();
}

function send(call: Call, { status, body }: RevocationAnswer): void {
  const headers = {
    'Cache-Control': 'no-store',
    ...(status === 405 && { Allow: 'POST' }),
    ...(status === 503 && { 'Retry-After': String(RETRY_SECONDS) }),
    ...(body !== undefined && { 'Content-Type': 'application/json' }),
  };
  answer(call, status, headers, body === undefined ? '' : JSON.stringify(body));
}

/** A fault of the body: the transmitter must not send it again. Anything else may pass. */
function answerTo(error: unknown): RevocationAnswer {
  if (error instanceof Denial && error.reason === 'body.too_large') return refusal('invalid_request', error.detail);
  return { status: 503 };
}

/** RFC 8935 §2.4. */
function refusal(err: string, description: string): RevocationAnswer {
  return { status: 400, body: { err, description } };
}

function refused(error: string, description: string): RevocationAnswer {
  return { status: 400, body: { error, error_description: description } };
}
