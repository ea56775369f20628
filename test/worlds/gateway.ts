import { randomUUID } from 'node:crypto';
import type { Clock } from '../../src/core/lib/clock.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { startIssuer, type Issuer } from '../support/issuer.ts';
import { exchangeRaw } from '../support/raw.ts';
import { startUpstream, type RequestHandler, type Upstream } from '../support/upstream.ts';

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

/** A gateway, an issuer that it trusts, and an upstream that records what reaches it. */
export interface World {
  readonly issuer: Issuer;
  readonly upstream: Upstream;
  readonly gateway: TestGateway;
  readonly clock: Clock;
  /** Signs a JWT with {@link WorldOptions.claims}, unless `claims` differ. */
  readonly token: (claims?: Record<string, unknown>) => Promise<string>;
  /** Makes an opaque token; introspection answers {@link WorldOptions.claims}, unless `claims` differ. */
  opaque(claims?: Record<string, unknown>): string;
  readonly send: (path: string, options?: SendOptions) => Promise<Answer>;
  /** Posts JSON as an MCP client does, with a token unless it is undefined. */
  post(path: string, token: string | undefined, body: string, headers?: Record<string, string>): Promise<Answer>;
  /** Sends the lines of a request head as they are, without a body, and returns the bytes of the answer. */
  sendRaw(...lines: readonly string[]): Promise<string>;
  /** Moves {@link World.clock} on. */
  advance(seconds: number): void;
  close(): Promise<void>;
}

export interface WorldOptions {
  /** gateway.yaml without public_url, listen and admin. Default: made of `top`, `server`, `servers` and `routes`. */
  readonly yaml?: (issuer: string, upstream: string) => string;
  /** More lines at the top level. In what these options say, `ISSUER` and `UPSTREAM` stand for the URLs of both. */
  readonly top?: string;
  /** The members of the authorization server `main` besides `issuer`. Default: it signs with RS256. */
  readonly server?: string;
  /** More authorization servers: `other: {…}`. */
  readonly servers?: string;
  /** Each a flow mapping without braces: `name: x, path: /x, …`. */
  readonly routes?: readonly string[];
  /** `admin`, in YAML. Default 127.0.0.1:0. */
  readonly admin?: string | undefined;
  /** Name → text. */
  readonly policies?: Readonly<Record<string, string>>;
  readonly env?: (issuer: string, upstream: string) => NodeJS.ProcessEnv;
  /** How the upstream answers. Default: 200 with a small JSON. */
  readonly upstream?: RequestHandler;
  /** The claims of every token. Default: the audience `a`. */
  readonly claims?: Readonly<Record<string, unknown>>;
  /** Default {@link publicUrl}. */
  readonly publicUrl?: string;
  /** The clock of the gateway. Default: the real time, and what {@link World.advance} adds. */
  readonly clock?: Clock | undefined;
}

/** The public URL of the gateway, unless a test sets another one. */
export const publicUrl = 'http://gateway.test';

/** Starts all three on free ports. */
export async function startWorld({ claims = { aud: 'a' }, ...options }: WorldOptions): Promise<World> {
  const [issuer, upstream] = await Promise.all([startIssuer(), startUpstream(options.upstream)]);
  let passedMs = 0;
  const { clock = () => Date.now() + passedMs } = options;
  const gateway = await startTestGateway({
    yaml: (options.yaml ?? yamlOf(options))(issuer.url, upstream.url),
    publicUrl: options.publicUrl ?? publicUrl,
    clock,
    ...(options.admin !== undefined && { admin: options.admin }),
    policies: options.policies ?? {},
    env: options.env?.(issuer.url, upstream.url) ?? {},
  });
  const send: World['send'] = async (path, { method = 'GET', token, headers = {}, body } = {}) => {
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
  };
  const json = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
  return {
    issuer,
    upstream,
    gateway,
    clock,
    token: (own) => issuer.sign({ ...claims, ...own }),
    opaque(own) {
      const token = randomUUID();
      issuer.introspection.set(token, { active: true, sub: 'alice', ...claims, ...own });
      return token;
    },
    send,
    post: (path, token, body, headers) =>
      send(path, { method: 'POST', ...(token !== undefined && { token }), headers: { ...json, ...headers }, body }),
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

function yamlOf(options: Pick<WorldOptions, 'top' | 'server' | 'servers' | 'routes'>) {
  const { top = '', server = 'jwt: { algorithms: [RS256] }', servers = '', routes = [] } = options;
  const text = `${top}
authorization_servers: { main: { issuer: "ISSUER", ${server} }${servers && `, ${servers}`} }
routes:
${routes.map((route) => `  - { ${route} }\n`).join('')}`;
  return (issuer: string, upstream: string): string =>
    text.replaceAll('ISSUER', issuer).replaceAll('UPSTREAM', upstream);
}
