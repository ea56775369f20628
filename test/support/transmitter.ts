import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { SignJWT } from 'jose';
import { listen } from '../../demo/listen.ts';
import { createKey, type IssuerKey } from './issuer.ts';
import { bodyServer, sendJson } from './upstream.ts';

export const caep = 'https://schemas.openid.net/secevent/caep/event-type/';
export const risc = 'https://schemas.openid.net/secevent/risc/event-type/';
export const ssf = 'https://schemas.openid.net/secevent/ssf/event-type/';

/** A stream, as the transmitter answers with it. */
interface TestStream {
  stream_id: string;
  iss: string;
  aud: unknown;
  delivery: { method?: string; endpoint_url?: string; authorization_header?: string };
  events_requested: string[];
  description?: string;
  status: string;
}

/** What a SET says besides the usual; `undefined` leaves a claim out. */
interface SetOptions {
  readonly claims?: Readonly<Record<string, unknown>>;
  readonly header?: Readonly<Record<string, unknown>>;
  readonly key?: IssuerKey;
}

/**
 * A Shared Signals transmitter (SSF 1.0) that the test controls: it creates streams, signs events, pushes them or holds
 * them for polls, and breaks every rule that a test wants broken.
 */
export interface Transmitter {
  readonly url: string;
  readonly key: IssuerKey;
  readonly requests: {
    readonly method: string;
    readonly path: string;
    readonly body: string;
    readonly authorization: string | undefined;
  }[];
  readonly streams: TestStream[];
  /** The events that wait for a poll, by `jti`. */
  readonly waiting: Map<string, string>;
  /** The ids that were acknowledged. */
  readonly acknowledged: string[];
  readonly errors: Map<string, unknown>;
  metadata: Record<string, unknown>;
  /** The audience of new streams. */
  aud: unknown;
  /** Whether a receiver may have only one stream. */
  hasOneStream: boolean;
  /** Sees each request first; returns whether it has answered. */
  intercept: ((request: IncomingMessage, response: ServerResponse, body: string) => boolean) | undefined;
  /** Signs a SET with one event. */
  sign(uri: string, subject: unknown, event?: Readonly<Record<string, unknown>>, options?: SetOptions): Promise<string>;
  /** Lets the next poll have a SET; resolves when it was acknowledged or refused. */
  offer(set: string): Promise<void>;
  close(): Promise<void>;
}

/** The token that its endpoints want. */
export const transmitterToken = 'transmitter-token-of-the-test';

/** Pushes a SET, RFC 8935. */
export async function push(
  url: string,
  set: string,
  { authorization, type = 'application/secevent+jwt' }: { authorization?: string; type?: string } = {},
): Promise<{ status: number; body: Record<string, unknown> | undefined }> {
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': type,
      accept: 'application/json',
      ...(authorization !== undefined && { authorization }),
    },
    body: set,
  });
  const text = await response.text();
  return { status: response.status, body: text === '' ? undefined : (JSON.parse(text) as Record<string, unknown>) };
}

/** Starts one. `port`: a fixed one, to come back after an outage. */
export async function startTransmitter(port = 0, key?: IssuerKey): Promise<Transmitter> {
  const signing = key ?? (await createKey('t1'));
  const polls = new Set<() => void>();
  const done = new Map<string, () => void>();
  const server = bodyServer((request, response, body) => {
    const { method = '', url: target = '', headers } = request;
    it.requests.push({ method, path: target, body, authorization: headers.authorization });
    if (it.intercept?.(request, response, body) !== true) answer(request, response, body);
  });
  const { url, close } = await listen(server, port);

  function answer(request: IncomingMessage, response: ServerResponse, body: string): void {
    const { pathname, searchParams } = new URL(request.url ?? '', url);
    const json = (status: number, value?: unknown): void => sendJson(response, status, value);
    if (pathname === '/.well-known/ssf-configuration') return json(200, it.metadata);
    if (pathname === '/jwks') return json(200, { keys: [signing.publicJwk] });
    if (request.headers.authorization !== `Bearer ${transmitterToken}`) return json(401);
    const asked = body === '' ? {} : (JSON.parse(body) as Record<string, unknown>);
    const id = searchParams.get('stream_id') ?? asked['stream_id'] ?? undefined;
    const stream = it.streams.find(({ stream_id: each }) => each === id);
    const status = () => json(stream ? 200 : 404, stream && { stream_id: stream.stream_id, status: stream.status });
    switch (`${request.method} ${pathname}`) {
      case 'GET /streams':
        return id === undefined ? json(200, it.streams) : json(stream ? 200 : 404, stream);
      case 'PATCH /streams':
        return json(stream ? 200 : 404, stream && Object.assign(stream, asked));
      case 'POST /streams':
        return it.hasOneStream && it.streams.length > 0 ? json(409) : json(201, created(asked));
      case 'POST /status':
        if (stream !== undefined) stream.status = String(asked['status']);
        return status();
      case 'GET /status':
        return status();
      case 'POST /verify': {
        json(204);
        const subject = { format: 'opaque', id };
        void it.sign(`${ssf}verification`, subject, { state: asked['state'] }).then((set) => deliver(stream, set));
        return;
      }
      case 'POST /poll': {
        for (const acknowledged of (asked['ack'] as string[] | undefined) ?? [])
          settle(acknowledged, () => it.acknowledged.push(acknowledged));
        for (const [refused, error] of Object.entries((asked['setErrs'] as object | undefined) ?? {}))
          settle(refused, () => it.errors.set(refused, error));
        const give = (): void => {
          polls.delete(give);
          json(200, { sets: Object.fromEntries(it.waiting) });
        };
        if (it.waiting.size > 0) return give();
        polls.add(give);
        request.socket.once('close', () => polls.delete(give));
        return;
      }
      default:
        json(404);
    }
  }

  function deliver(stream: TestStream | undefined, set: string): void {
    const { endpoint_url: endpoint = `${url}/poll`, authorization_header: authorization } = stream?.delivery ?? {};
    if (endpoint === `${url}/poll`) void it.offer(set);
    else void push(endpoint, set, authorization === undefined ? {} : { authorization }).catch(() => {});
  }

  function created(asked: Record<string, unknown>): TestStream {
    const delivery = (asked['delivery'] ?? {}) as TestStream['delivery'];
    const made: TestStream = {
      stream_id: randomUUID(),
      iss: url,
      aud: it.aud,
      delivery: delivery.method === 'urn:ietf:rfc:8936' ? { ...delivery, endpoint_url: `${url}/poll` } : delivery,
      events_requested: asked['events_requested'] as string[],
      ...(typeof asked['description'] === 'string' && { description: asked['description'] }),
      status: 'enabled',
    };
    it.streams.push(made);
    return made;
  }

  function settle(id: string, note: () => void): void {
    note();
    it.waiting.delete(id);
    done.get(id)?.();
  }

  const it: Transmitter = {
    url,
    key: signing,
    requests: [],
    streams: [],
    waiting: new Map(),
    acknowledged: [],
    errors: new Map(),
    metadata: {
      spec_version: '1_0',
      issuer: url,
      jwks_uri: `${url}/jwks`,
      configuration_endpoint: `${url}/streams`,
      status_endpoint: `${url}/status`,
      verification_endpoint: `${url}/verify`,
      delivery_methods_supported: ['urn:ietf:rfc:8935', 'urn:ietf:rfc:8936'],
    },
    aud: 'https://receiver.example',
    hasOneStream: false,
    intercept: undefined,
    async sign(uri, subject, event = {}, { claims, header, key: signer = signing } = {}) {
      const payload = {
        iss: url,
        aud: 'http://gateway.test',
        iat: Math.floor(Date.now() / 1000),
        jti: randomUUID(),
        sub_id: subject,
        events: { [uri]: event },
        ...claims,
      };
      const given = Object.fromEntries(Object.entries(payload).filter(([, value]) => value !== undefined));
      return new SignJWT(given)
        .setProtectedHeader({ alg: signer.alg, kid: signer.kid, typ: 'secevent+jwt', ...header })
        .sign(signer.privateKey);
    },
    offer(set) {
      const { jti = randomUUID() } = JSON.parse(
        Buffer.from(set.split('.')[1] ?? '', 'base64url').toString() || '{}',
      ) as { jti?: string };
      const settled = new Promise<void>((resolve) => done.set(jti, resolve));
      it.waiting.set(jti, set);
      for (const give of polls) give();
      return settled;
    },
    close,
  };
  return it;
}
