import { createRemoteJWKSet, customFetch, type JWTVerifyGetKey } from 'jose';
import { readJwkSet } from '../../tokens/servers/jwk-set.ts';
import { firstReadable } from '../../tokens/servers/discovery.ts';
import { createJsonFetcher, FetchError, type JsonAnswer, type JsonFetcher } from '../../tokens/servers/fetch-json.ts';
import type { Clock } from '../../core/lib/clock.ts';
import { isObject, ownMember } from '../../core/lib/json/own-member.ts';
import type { EventSource } from './sources.ts';
import { requestedEvents } from './security-event.ts';

/** The metadata of a transmitter, SSF 1.0 §7.1. */
interface Metadata {
  readonly keys: JWTVerifyGetKey;
  readonly configurationEndpoint: string | undefined;
  readonly statusEndpoint: string | undefined;
  readonly verificationEndpoint: string | undefined;
  /** Members of complex subjects that a receiver must understand. */
  readonly criticalMembers: readonly string[];
}

/** A stream of events, SSF 1.0 §8.1.1. */
export interface EventStream {
  readonly id: string;
  readonly audiences: readonly string[];
  readonly method: string;
  /** Where events are polled, or pushed to. */
  readonly endpoint: string | undefined;
  readonly requested: readonly string[];
  readonly description: string | undefined;
  /** The transmitter pauses the stream when it hears nothing for longer. */
  readonly inactivityMs: number | undefined;
}

/** Why an event is no good, RFC 8936 §2.6. */
export interface SetRefusal {
  readonly err: string;
  readonly description: string;
}

const POLL = 'urn:ietf:rfc:8936';
const PUSH = 'urn:ietf:rfc:8935';

const TIMEOUT_MS = 10_000;
/** How long a transmitter may hold back its answer to a poll. */
const POLL_TIMEOUT_MS = 100_000;
const MAX_POLL_BYTES = 8 * 1024 * 1024;
const MAX_EVENTS = 100;
const METADATA_MS = 60 * 60_000;
/** After a failure the next caller gets it again for this long, so that pushed garbage causes no flood of requests. */
const COOL_DOWN_MS = 1_000;
/** An unknown `kid` fetches the keys again, at most once in this time. */
const KEYS_COOL_DOWN_MS = 5_000;

/** A transmitter does not answer as SSF 1.0 says. */
export class TransmitterError extends Error {
  override readonly name = 'TransmitterError';
  /** The status of its answer. */
  readonly status: number | undefined;

  constructor(message: string, status?: number) {
    super(message);
    this.status = status;
  }
}

/** The requests to one transmitter. */
export class Transmitter {
  readonly #source: EventSource;
  readonly #pushUrl: string | undefined;
  /** Identifies the stream of this gateway where it has no address of its own. */
  readonly #description: string;
  readonly #clock: Clock;
  readonly #fetcher: JsonFetcher = createJsonFetcher();
  readonly #closing = new AbortController();
  #metadata: Promise<Metadata> | undefined;
  #renewAt = 0;

  constructor(source: EventSource, publicUrl: string, clock: Clock) {
    this.#source = source;
    this.#pushUrl = source.path === undefined ? undefined : publicUrl + source.path;
    this.#description = `Sallyport at ${publicUrl}`;
    this.#clock = clock;
  }

  /** Its metadata, read again each hour. */
  metadata(): Promise<Metadata> {
    if (this.#metadata !== undefined && this.#clock() < this.#renewAt) return this.#metadata;
    this.#renewAt = this.#clock() + METADATA_MS;
    const before = this.#metadata;
    this.#metadata = this.#discover().catch((error: unknown) => {
      this.#renewAt = this.#clock() + COOL_DOWN_MS;
      // Metadata that were read once go on.
      if (before === undefined) throw error;
      return before;
    });
    return this.#metadata;
  }

  async streams(): Promise<readonly EventStream[]> {
    const { streamId } = this.#source;
    const endpoint = await this.#configurationEndpoint();
    const query = streamId === undefined ? '' : `?stream_id=${encodeURIComponent(streamId)}`;
    const answer = await this.#call(endpoint + query, {}, [200, 204, 404]);
    if (answer.status !== 200) return [];
    return [answer.body].flat().map((body) => this.#streamOf(body));
  }

  /** Makes a stream; undefined if the transmitter has one for this receiver already. */
  async create(): Promise<EventStream | undefined> {
    const body = { ...this.#wanted(), events_requested: requestedEvents, description: this.#description };
    const answer = await this.#call(await this.#configurationEndpoint(), { body }, [200, 201, 409]);
    return answer.status === 409 ? undefined : this.#streamOf(answer.body);
  }

  /** Whether a stream is one that this gateway made, or would make. */
  isOwn({ method, endpoint, description }: EventStream): boolean {
    if (this.#source.delivery === 'push') return method === PUSH && endpoint === this.#pushUrl;
    return method === POLL && (description === undefined || description === this.#description);
  }

  /** Asks for events that a stream lacks. */
  async complete(stream: EventStream): Promise<EventStream> {
    if (requestedEvents.every((event) => stream.requested.includes(event))) return stream;
    const body = { stream_id: stream.id, events_requested: requestedEvents };
    const answer = await this.#call(await this.#configurationEndpoint(), { method: 'PATCH', body }, [200, 202]);
    return answer.status === 200 ? this.#streamOf(answer.body) : stream;
  }

  /** The status of a stream: enabled, paused or disabled. A transmitter without the endpoint never pauses. */
  async status({ id }: EventStream): Promise<string> {
    const { statusEndpoint } = await this.metadata();
    if (statusEndpoint === undefined) return 'enabled';
    const answer = await this.#call(`${statusEndpoint}?stream_id=${encodeURIComponent(id)}`, {}, [200]);
    return String(ownMember(answer.body, 'status'));
  }

  async enable({ id }: EventStream): Promise<void> {
    const { statusEndpoint } = await this.metadata();
    if (statusEndpoint === undefined) return;
    await this.#call(statusEndpoint, { body: { stream_id: id, status: 'enabled' } }, [200, 202]);
  }

  /** Asks for a verification event, SSF 1.0 §8.1.4. */
  async verify({ id }: EventStream, state: string): Promise<void> {
    const { verificationEndpoint } = await this.metadata();
    if (verificationEndpoint === undefined) return;
    await this.#call(verificationEndpoint, { body: { stream_id: id, state } }, [200, 202, 204]);
  }

  /**
   * Polls, RFC 8936 §2.4, and resolves with the SETs by their id: at most as many as were asked for. The rest of an
   * answer is not acknowledged, and comes again.
   *
   * @param taken The events of earlier answers that are kept.
   * @param refused Those that are no good.
   */
  async poll(
    endpoint: string,
    taken: readonly string[],
    refused: ReadonlyMap<string, SetRefusal>,
  ): Promise<ReadonlyMap<string, string>> {
    const body = {
      maxEvents: MAX_EVENTS,
      returnImmediately: false,
      ...(taken.length > 0 && { ack: taken }),
      ...(refused.size > 0 && { setErrs: Object.fromEntries(refused) }),
    };
    const answer = await this.#call(endpoint, { body, timeoutMs: POLL_TIMEOUT_MS, maxBytes: MAX_POLL_BYTES }, [200]);
    const sets = ownMember(answer.body, 'sets');
    if (!isObject(sets)) throw new TransmitterError('the answer to a poll has no sets');
    const ids = Object.keys(sets).slice(0, MAX_EVENTS);
    return new Map(ids.map((id) => [id, typeof sets[id] === 'string' ? sets[id] : '']));
  }

  close(): void {
    this.#closing.abort();
    this.#fetcher.close();
  }

  async #configurationEndpoint(): Promise<string> {
    const { configurationEndpoint } = await this.metadata();
    if (configurationEndpoint === undefined) throw new TransmitterError('its metadata have no configuration_endpoint');
    return configurationEndpoint;
  }

  #wanted(): { readonly delivery: Readonly<Record<string, string>> } {
    const { authorization } = this.#source;
    if (this.#pushUrl === undefined) return { delivery: { method: POLL } };
    const header = authorization === undefined ? {} : { authorization_header: authorization };
    return { delivery: { method: PUSH, endpoint_url: this.#pushUrl, ...header } };
  }

  async #discover(): Promise<Metadata> {
    const { issuer } = this.#source;
    const { origin, pathname } = new URL(issuer);
    const path = pathname.replace(/\/$/, '');
    // SSF 1.0 §7.2.1; transmitters before it have the second one.
    const candidates = ['ssf-configuration', 'risc-configuration'].map(
      (name) => `${origin}/.well-known/${name}${path}`,
    );
    const search = await firstReadable(candidates, (url) => this.#metadataAt(url), isTransmitterFailure);
    if ('value' in search) return search.value;
    throw search.failures[0] ?? new TransmitterError('it has no SSF metadata');
  }

  /** The metadata at one location; undefined where it has none. */
  async #metadataAt(url: string): Promise<Metadata | undefined> {
    const { issuer } = this.#source;
    const { status, body } = await this.#request(url, {});
    if (status === 404 || status === 410) return undefined;
    if (status !== 200 || !isObject(body)) throw new TransmitterError(`${url} answers ${status}`, status);
    if (body['issuer'] !== issuer) throw new TransmitterError(`${url} has another issuer`);
    const urlIn = (member: string): string | undefined => urlOf(body[member], member, issuer.startsWith('https:'));
    const jwksUri = urlIn('jwks_uri');
    if (jwksUri === undefined) throw new TransmitterError(`${url} has no jwks_uri`);
    const critical = body['critical_subject_members'];
    return {
      keys: this.#keysAt(jwksUri),
      configurationEndpoint: urlIn('configuration_endpoint'),
      statusEndpoint: urlIn('status_endpoint'),
      verificationEndpoint: urlIn('verification_endpoint'),
      criticalMembers: Array.isArray(critical) ? critical.map(String) : [],
    };
  }

  #keysAt(url: string): JWTVerifyGetKey {
    return createRemoteJWKSet(new URL(url), {
      cooldownDuration: KEYS_COOL_DOWN_MS,
      [customFetch]: async () => {
        const { status, body } = await this.#request(url, {});
        return Response.json({ keys: readJwkSet(body)?.keys }, { status });
      },
    });
  }

  /** @throws {TransmitterError} for another status than those, and for an endpoint that must not get the token. */
  async #call(url: string, call: TransmitterCall, statuses: readonly number[]): Promise<JsonAnswer> {
    const { token, endpointOrigins } = this.#source;
    const { origin } = new URL(url);
    if (!endpointOrigins.has(origin))
      throw new TransmitterError(`an endpoint is at ${origin}: add it to endpoint_origins if the token may go there`);
    const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
    const answer = await this.#request(url, call, authorization);
    if (statuses.includes(answer.status)) return answer;
    throw new TransmitterError(`${new URL(url).pathname} answers ${answer.status}`, answer.status);
  }

  #request(url: string, call: TransmitterCall, headers: Readonly<Record<string, string>> = {}): Promise<JsonAnswer> {
    const { body, method = body === undefined ? 'GET' : 'POST', timeoutMs = TIMEOUT_MS, maxBytes } = call;
    return this.#fetcher.fetchJson(url, {
      timeoutMs,
      method,
      signal: this.#closing.signal,
      ...(maxBytes !== undefined && { maxBytes }),
      headers: { ...headers, ...(body !== undefined && { 'content-type': 'application/json' }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  }

  #streamOf(body: unknown): EventStream {
    const id = ownMember(body, 'stream_id');
    if (typeof id !== 'string') throw new TransmitterError('a stream has no stream_id');
    // SSF 1.0 §8.1.1: its events have this issuer.
    if (ownMember(body, 'iss') !== this.#source.issuer) throw new TransmitterError('a stream has another iss');
    const delivery = ownMember(body, 'delivery');
    const texts = (member: string): readonly string[] =>
      [ownMember(body, member)].flat().filter((each) => typeof each === 'string');
    const inactivity = ownMember(body, 'inactivity_timeout');
    const description = ownMember(body, 'description');
    return {
      id,
      audiences: texts('aud'),
      method: String(ownMember(delivery, 'method')),
      endpoint: urlOf(ownMember(delivery, 'endpoint_url'), 'endpoint_url', this.#source.issuer.startsWith('https:')),
      requested: texts('events_requested'),
      description: typeof description === 'string' ? description : undefined,
      inactivityMs: typeof inactivity === 'number' && inactivity > 0 ? inactivity * 1000 : undefined,
    };
  }
}

function isTransmitterFailure(error: unknown): error is TransmitterError | FetchError {
  return error instanceof TransmitterError || error instanceof FetchError;
}

interface TransmitterCall {
  readonly method?: 'GET' | 'POST' | 'PATCH';
  readonly body?: unknown;
  readonly timeoutMs?: number;
  readonly maxBytes?: number;
}

/** A URL of metadata. Below an https issuer everything is https: the token goes there, and the keys come from there. */
function urlOf(value: unknown, member: string, isSecure: boolean): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'string' && URL.canParse(value) && /^https?:\/\//.test(value)) {
    if (!isSecure || value.startsWith('https:')) return value;
  }
  throw new TransmitterError(`${member} is not ${isSecure ? 'an https' : 'an http(s)'} URL`);
}
