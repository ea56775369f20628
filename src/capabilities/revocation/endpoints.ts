import { bodyQuotaBytes, readBody } from '../../core/gateway/listen/body.ts';
import { answer } from '../../core/gateway/respond/answer.ts';
import { digestOf, isSameSecret } from '../../core/lib/digest.ts';
import { createQuota } from '../../core/lib/fair-share.ts';
import type { Call } from '../../core/model/call.ts';
import type { Config } from '../../ports/config.ts';
import { Denial, isTokenDenial } from '../../core/model/denial.ts';
import type { GrantedCall } from '../../core/model/grant.ts';
import { revocationSettings } from './slot.ts';
import type { EventSource } from './sources.ts';
import type { RevocationAnswer, RevocationReceiver } from './revoked.ts';
import type { EndpointParts, OwnEndpoint, OwnEndpoints } from '../capability.ts';

/** The longest SET, and the longest body of the endpoint. */
const MAX_BYTES = 64 * 1024;
const RETRY_SECONDS = 5;

interface Receiving extends EndpointParts {
  readonly receive: RevocationReceiver;
}

/** The paths at which transmitters push, and the endpoint of global token revocation. */
export class RevocationEndpoints implements OwnEndpoints {
  readonly #parts: Receiving;
  readonly #byPath: ReadonlyMap<string | undefined, EventSource>;
  readonly #room = createQuota(bodyQuotaBytes(MAX_BYTES));
  readonly #hasAddresses: boolean;
  readonly endpoints: readonly OwnEndpoint[];

  constructor(config: Config, parts: Receiving) {
    const settings = revocationSettings.of(config);
    this.#parts = parts;
    this.#byPath = new Map(Array.from(settings?.sources.values() ?? [], (source) => [source.path, source]));
    this.#hasAddresses = config.log.details.addresses;
    const endpoint = settings?.endpoint?.route;
    if (endpoint === undefined) this.endpoints = [];
    else {
      const read: OwnEndpoint['read'] = (call) => readBody(call, MAX_BYTES, this.#room);
      this.endpoints = [{ endpoint, read, answer: (granted) => this.#revoke(granted) }];
    }
  }

  /**
   * Takes a SET that a transmitter pushes, RFC 8935; false for any other call.
   *
   * @throws {Denial} `request.host` for another `Host` than those of the gateway.
   */
  readonly publish = (call: Call): boolean => {
    const source = this.#byPath.get(call.path);
    if (source === undefined) return false;
    this.#parts.requireHost(call);
    void this.#answer(call, source).catch(() => call.response.destroy());
    return true;
  };

  async #answer(call: Call, source: EventSource): Promise<void> {
    try {
      send(call, await this.#take(call, source));
    } catch (error) {
      if (error instanceof Denial && error.reason === 'failures.exceeded') this.#parts.refuse(call, error);
      else send(call, answerTo(error));
    }
  }

  /** Answers a call of the endpoint that was allowed. */
  async #revoke({ call, grant: { principal, action } }: GrantedCall): Promise<void> {
    if (mediaTypeOf(call) !== 'application/json')
      return send(call, refused('invalid_request', 'Content-Type is not application/json'));
    const body = String(action.body);
    send(call, await this.#parts.receive({ ask: 'endpoint', body, by: principal?.clientId ?? principal?.subject }));
  }

  async #take(call: Call, source: EventSource): Promise<RevocationAnswer> {
    if (call.method !== 'POST') return { status: 405 };
    const { name } = source;
    if (!(await this.#isAuthentic(call, source)))
      return this.#parts.receive({
        ask: 'refused',
        source: name,
        address: this.#hasAddresses ? call.client : undefined,
      });
    if (mediaTypeOf(call) !== 'application/secevent+jwt')
      return refusal('invalid_request', 'Content-Type is not application/secevent+jwt');
    const set = (await readBody(call, MAX_BYTES, this.#room)).toString('latin1').trim();
    return this.#parts.receive({ ask: 'push', source: name, set });
  }

  /** @throws {Denial} `failures.exceeded` after too many wrong credentials of the address, whatever this one is. */
  async #isAuthentic(call: Call, { name, authorization: agreed }: EventSource): Promise<boolean> {
    if (agreed === undefined) return true;
    const { authorization = '' } = call.fields;
    try {
      const question = { call, servers: `push ${name}`, token: digestOf(authorization) };
      await this.#parts.failures.guard(question, async () => {
        if (!isSameSecret(authorization, agreed)) throw new Denial('token.inactive', 'a wrong credential');
      });
      return true;
    } catch (error) {
      if (isTokenDenial(error)) return false;
      throw error;
    }
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
