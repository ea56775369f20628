import type { IncomingMessage, ServerResponse } from 'node:http';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { startIssuer, type Issuer } from '../support/issuer.ts';
import { exchangeRaw } from '../support/raw.ts';
import { startUpstream, type Upstream } from '../support/upstream.ts';

/** What a client sees of an answer. */
export interface Answer {
  readonly status: number;
  /** `WWW-Authenticate`, whole. */
  readonly challenge: string | null;
  readonly headers: Headers;
  readonly text: string;
}

interface SendOptions {
  readonly method?: string;
  /** Goes out as `Authorization: Bearer`. */
  readonly token?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** A gateway between an issuer and an upstream that obey the test. */
export interface World {
  readonly issuer: Issuer;
  readonly upstream: Upstream;
  readonly gateway: TestGateway;
  send(path: string, options?: SendOptions): Promise<Answer>;
  /** Sends `lines` of a request head as they are, without a body, and gives back all bytes that come. */
  sendRaw(...lines: readonly string[]): Promise<string>;
  /** Lets time pass for the gateway. */
  advance(seconds: number): void;
  close(): Promise<void>;
}

export interface WorldOptions {
  /** gateway.yaml without its addresses. */
  readonly yaml: (issuer: string, upstream: string) => string;
  readonly policies?: Readonly<Record<string, string>>;
  readonly env?: (issuer: string, upstream: string) => NodeJS.ProcessEnv;
  /** How the upstream answers. */
  readonly upstream?: (request: IncomingMessage, response: ServerResponse, body: string) => void;
}

/** Clients reach every gateway of these tests by this origin. */
export const publicUrl = 'http://gateway.test';

/** Starts all three on free ports. */
export async function startWorld(options: WorldOptions): Promise<World> {
  const issuer = await startIssuer();
  const upstream = await startUpstream(options.upstream);
  let passedMs = 0;
  const gateway = await startTestGateway({
    yaml: options.yaml(issuer.url, upstream.url),
    publicUrl,
    clock: () => Date.now() + passedMs,
    ...(options.policies !== undefined && { policies: options.policies }),
    ...(options.env !== undefined && { env: options.env(issuer.url, upstream.url) }),
  });
  return {
    issuer,
    upstream,
    gateway,
    async send(path, { method = 'GET', token, headers = {}, body } = {}) {
      const response = await fetch(gateway.url + path, {
        method,
        headers: { ...(token !== undefined && { authorization: `Bearer ${token}` }), ...headers },
        ...(body !== undefined && { body }),
        redirect: 'manual',
      });
      return {
        status: response.status,
        challenge: response.headers.get('www-authenticate'),
        headers: response.headers,
        text: await response.text(),
      };
    },
    sendRaw: (...lines) => exchangeRaw(gateway.url, `${lines.join('\r\n')}\r\nConnection: close\r\n\r\n`),
    advance(seconds) {
      passedMs += seconds * 1000;
    },
    async close() {
      await gateway.close();
      await Promise.all([issuer.close(), upstream.close()]);
    },
  };
}
