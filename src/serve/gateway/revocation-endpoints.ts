import { createQuota } from '../../lib/fair-share.ts';
import { isSameSecret } from '../../lib/digest.ts';
import type { Call } from '../../model/call.ts';
import type { Config } from '../../model/config.ts';
import { Denial } from '../../model/denial.ts';
import type { GrantedCall } from '../../model/grant.ts';
import type { EventSource, RevocationAnswer, RevocationReceiver } from '../../model/revocation.ts';
import { bodyQuotaBytes, readBody } from '../../pipeline/listen/body.ts';
import { answer } from '../../pipeline/respond/answer.ts';

/** What the gateway itself answers for `revocation`. */
export interface RevocationEndpoints {
  /** Takes a SET that a transmitter pushes, RFC 8935; false for any other call. */
  push(call: Call): boolean;
  /** Answers a call of the endpoint that was allowed. */
  revoke(granted: GrantedCall): Promise<void>;
}

/** The longest SET, and the longest body of the endpoint. */
const MAX_BYTES = 64 * 1024;
const RETRY_SECONDS = 5;

/** Creates the endpoints of a configuration. `receive` asks the process that keeps revocations. */
export function createRevocationEndpoints({ revocation }: Config, receive: RevocationReceiver): RevocationEndpoints {
  const sources = Array.from(revocation?.sources.values() ?? []);
  const byPath = new Map(
    sources.flatMap((source) => (source.path === undefined ? [] : [[source.path, source] as const])),
  );
  const room = createQuota(bodyQuotaBytes(MAX_BYTES));

  async function take(call: Call, source: EventSource): Promise<RevocationAnswer> {
    const { method, fields, request } = call;
    if (method !== 'POST') return { status: 405 };
    if (source.authorization !== undefined && !isSameSecret(fields.authorization ?? '', source.authorization))
      return refusal('authentication_failed', 'Authorization is not the one that was agreed');
    const type = request.headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase();
    if (type !== 'application/secevent+jwt')
      return refusal('invalid_request', 'Content-Type is not application/secevent+jwt');
    const set = (await readBody(call, MAX_BYTES, room)).toString('latin1').trim();
    return receive({ ask: 'push', source: source.name, set });
  }

  return {
    push(call) {
      const source = byPath.get(call.path);
      if (source === undefined) return false;
      take(call, source)
        .catch((error: unknown) => answerTo(error))
        .then((given) => send(call, given))
        .catch(() => call.response.destroy());
      return true;
    },
    async revoke({ call, grant: { principal } }) {
      const type = call.request.headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase();
      if (type !== 'application/json')
        return send(call, refused('invalid_request', 'Content-Type is not application/json'));
      const body = (await readBody(call, MAX_BYTES, room)).toString('utf8');
      send(call, await receive({ ask: 'endpoint', body, by: principal?.clientId ?? principal?.subject }));
    },
  };
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
