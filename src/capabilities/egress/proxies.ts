/**
 * Agents that reach targets through proxies. An https target is reached by CONNECT (RFC 9110 §9.3.6), so that the proxy
 * sees neither tokens nor secrets; the proxy itself makes the request to an http target (RFC 9112 §3.2.2). Node's own
 * `proxyEnv` does the latter; its CONNECT knows no authorities of a proxy, and reads an answer without a bound.
 *
 * @module
 */

import type { ClientRequestArgs, IncomingMessage } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { connect as connectPlain, isIP, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import {
  connect as connectTls,
  type ConnectionOptions,
  createSecureContext,
  getCACertificates,
  type SecureContext,
} from 'node:tls';
import { http } from '../../core/lib/http/node-http.ts';
import type { Egress } from '../../ports/own-requests.ts';
import { createIsWithin, isLoopbackUrl } from '../../core/lib/ip-address.ts';
import { reasonOf } from '../../core/lib/wording.ts';
import { InvalidValue } from '../../core/config/values.ts';
import { proxyUrl } from './settings.ts';
import type { EgressSettings } from './slot.ts';

/** A request that did not get through its proxy. The message names the proxy, and says nothing that it wrote. */
export class ProxyFault extends Error {
  override readonly name = 'ProxyFault';
}

/** A proxy that is not usable; every request that needs it fails, instead of going another way. */
interface UnusableProxy {
  readonly fault: string;
}

/** The proxies by the scheme of the target. */
export interface Proxies {
  readonly http: EgressSettings | UnusableProxy | undefined;
  readonly https: EgressSettings | UnusableProxy | undefined;
}

/**
 * The proxies of the environment, as curl reads it: `HTTPS_PROXY` for https targets, `HTTP_PROXY` for http targets,
 * `NO_PROXY` for what is reached directly; lower case counts first.
 */
export function proxiesIn(env: NodeJS.ProcessEnv): Proxies {
  const valueOf = (name: string): string | undefined => unlessEmpty(env[name.toLowerCase()]) ?? unlessEmpty(env[name]);
  const except = (valueOf('NO_PROXY') ?? '').split(/[\s,]+/).flatMap(exceptionsIn);
  const read = (name: string): Proxies['http'] => {
    const text = valueOf(name);
    if (text === undefined) return undefined;
    try {
      return { proxy: proxyUrl(/^[a-z0-9+.-]+:\/\//i.test(text) ? text : `http://${text}`), except, ca: undefined };
    } catch (error) {
      if (!(error instanceof InvalidValue)) throw error;
      return { fault: `${name} ${error.message}` };
    }
  };
  return { http: read('HTTP_PROXY'), https: read('HTTPS_PROXY') };
}

function unlessEmpty(text: string | undefined): string | undefined {
  return text === '' ? undefined : text;
}

/** An entry of `NO_PROXY` covers the names below it too, with or without a dot in front. `*` covers all. */
function exceptionsIn(entry: string): readonly string[] {
  const name = entry.toLowerCase().replace(/^\*?\./, '');
  if (name === '') return [];
  const [address = '', prefix = '0'] = name.split('/');
  if (isIP(address) === 0) return name === '*' ? [name] : [name, `.${name}`];
  // Another program may know what a network with a wrong prefix is.
  return /^[0-9]+$/.test(prefix) && Number(prefix) <= (isIP(address) === 4 ? 32 : 128) ? [name] : [];
}

const TUNNEL_MS = 5_000;
const MAX_HEADER_BYTES = 16 * 1024;
/** Less than the time after which most servers and proxies close an idle connection. */
const IDLE_MS = 4_000;
const MAX_IDLE_SOCKETS = 32;
const pool = { keepAlive: true, maxFreeSockets: MAX_IDLE_SOCKETS, timeout: IDLE_MS } as const;

/**
 * Creates what leads requests through proxies. This machine is always reached directly.
 *
 * @param direct Origins that are reached directly too.
 */
export function createEgress(proxies: Proxies, direct: readonly string[]): Egress {
  const ways = { http: wayOf(proxies.http, ForwardAgent), https: wayOf(proxies.https, TunnelAgent) };
  return {
    proxies: { http: ways.http?.shown, https: ways.https?.shown },
    agentFor(target) {
      const way = target.protocol === 'https:' ? ways.https : ways.http;
      if (way === undefined || isThisMachine(target) || direct.includes(target.origin)) return undefined;
      return way.agentFor(target);
    },
  };
}

interface Way {
  /** For the operator. */
  readonly shown: string;
  readonly agentFor: Egress['agentFor'];
}

function wayOf(
  proxy: EgressSettings | UnusableProxy | undefined,
  Agent: typeof ForwardAgent | typeof TunnelAgent,
): Way | undefined {
  if (proxy === undefined) return undefined;
  if ('fault' in proxy) {
    const fault = new ProxyFault(proxy.fault);
    const agent = new Agent({ connect: (done) => done(fault), openTunnel: (_target, done) => done(fault) });
    return { shown: proxy.fault, agentFor: () => agent };
  }
  const agent = new Agent(new ProxyServer(proxy));
  const isExcepted = createIsExcepted(proxy.except);
  return { shown: proxy.proxy.origin, agentFor: (target) => (isExcepted(target) ? undefined : agent) };
}

function isThisMachine({ href, hostname }: URL): boolean {
  return isLoopbackUrl(href) || hostname.endsWith('.localhost');
}

function createIsExcepted(except: readonly string[]): (target: URL) => boolean {
  const names = new Set(except);
  const suffixes = except.filter((each) => each.startsWith('.'));
  const isWithin = createIsWithin(except.filter((each) => isIP(each.split('/', 1)[0] ?? '') !== 0));
  return ({ hostname, host }) => {
    const name = hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
    return (
      names.has('*') ||
      names.has(name) ||
      // `name:port`, in `NO_PROXY` alone.
      names.has(host) ||
      suffixes.some((suffix) => name.endsWith(suffix)) ||
      isWithin(name)
    );
  };
}

/** Opens connections. Each method calls `done` once. */
interface Connector {
  /** Connects to the proxy itself. */
  connect(done: (fault: ProxyFault | undefined, socket?: Socket) => void): void;
  /** Opens a tunnel to `target`, as `host:port`. */
  openTunnel(target: string, done: (fault: ProxyFault | undefined, socket?: Duplex) => void): void;
  /** Authorities for targets of tunnels besides those of the system; undefined: the defaults of Node. */
  readonly context?: SecureContext | undefined;
  /** Undefined for a proxy that is not usable. */
  readonly url?: URL;
}

/** The proxy, and how connections to it and through it are secured. Everything has a time limit. */
class ProxyServer implements Connector {
  readonly url: URL;
  /** The value of `Proxy-Authorization`; undefined: none is sent. */
  readonly authorization: string | undefined;
  /** Trusts the authorities of `ca` besides those of the system; undefined: the defaults of Node. */
  readonly context: SecureContext | undefined;

  constructor({ proxy, ca }: EgressSettings) {
    this.url = proxy;
    const [username, password] = [proxy.username, proxy.password].map(decodeURIComponent);
    if (proxy.username !== '' || proxy.password !== '')
      this.authorization = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
    if (ca !== undefined) this.context = createSecureContext({ ca: [...getCACertificates('default'), ca] });
  }

  connect(done: (fault: ProxyFault | undefined, socket?: Socket) => void): void {
    const { hostname, port, protocol } = this.url;
    const host = hostname.replace(/^\[|\]$/g, '');
    const isSecure = protocol === 'https:';
    const at = { host, port: Number(port === '' ? (isSecure ? 443 : 80) : port) };
    const socket = isSecure
      ? connectTls({ ...at, ...(isIP(host) === 0 && { servername: host }), secureContext: this.context })
      : connectPlain(at);
    const settle = (fault: ProxyFault | undefined): void => {
      clearTimeout(timer);
      socket.off('error', fail);
      if (fault === undefined) return done(undefined, socket);
      // A late error without a listener would end the process.
      socket.on('error', () => {}).destroy();
      done(fault);
    };
    const fail = (error: Error): void => settle(this.fault(`cannot be reached (${reasonOf(error)})`));
    const timer = setTimeout(() => settle(this.fault(`did not answer within ${TUNNEL_MS} ms`)), TUNNEL_MS);
    socket.once('error', fail).once(isSecure ? 'secureConnect' : 'connect', () => settle(undefined));
  }

  openTunnel(target: string, done: (fault: ProxyFault | undefined, socket?: Duplex) => void): void {
    this.connect((fault, proxySocket) => {
      if (proxySocket === undefined) return done(fault);
      const request = http.request({
        createConnection: () => proxySocket,
        method: 'CONNECT',
        path: target,
        headers: {
          host: target,
          ...(this.authorization !== undefined && { 'proxy-authorization': this.authorization }),
        },
        maxHeaderSize: MAX_HEADER_BYTES,
        insecureHTTPParser: false,
      });
      const fail = (why: string): void => {
        clearTimeout(timer);
        request.off('error', broken).on('error', () => {});
        request.destroy();
        done(this.fault(why));
      };
      const broken = (error: Error): void => fail(`gave no answer to CONNECT ${target} (${reasonOf(error)})`);
      const timer = setTimeout(() => fail(`did not answer CONNECT ${target} within ${TUNNEL_MS} ms`), TUNNEL_MS);
      request.once('error', broken);
      request.once('connect', ({ statusCode = 0 }: IncomingMessage, socket, head) => {
        // RFC 9110 §9.3.6: any 2xx. TLS begins with the client: earlier bytes are none of the target's.
        if (statusCode >= 200 && statusCode < 300 && head.length === 0) {
          clearTimeout(timer);
          return done(undefined, socket);
        }
        socket.on('error', () => {}).destroy();
        if (statusCode === 407) return fail(`wants other credentials than those in its URL (407)`);
        fail(`refused CONNECT ${target} (${statusCode})`);
      });
      request.end();
    });
  }

  fault(why: string): ProxyFault {
    return new ProxyFault(`the proxy ${this.url.origin} ${why}`);
  }
}

type Created = (error: Error | null, socket: Duplex) => void;

/** Reaches http targets: the proxy makes the request. */
class ForwardAgent extends http.Agent {
  readonly #proxy: Connector;

  constructor(proxy: Connector) {
    super({ ...pool, proxyEnv: { HTTP_PROXY: proxy.url?.href ?? 'http://proxy.invalid' } });
    this.#proxy = proxy;
  }

  override createConnection(_options: ClientRequestArgs, created?: Created): undefined {
    this.#proxy.connect((fault, socket) => created?.(fault ?? null, socket as Duplex));
  }
}

/** Reaches https targets: the proxy passes bytes. */
class TunnelAgent extends HttpsAgent {
  readonly #proxy: Connector;

  constructor(proxy: Connector) {
    super(pool);
    this.#proxy = proxy;
  }

  override createConnection(options: ClientRequestArgs, created?: Created): undefined {
    const { host, port } = options;
    const name = isIP(host ?? '') === 6 ? `[${host}]` : host;
    this.#proxy.openTunnel(`${name}:${port}`, (fault, tunnel) => {
      if (tunnel === undefined) return created?.(fault ?? null, undefined as unknown as Duplex);
      // Authorities that the request names take the place of all others.
      const context = 'ca' in options && options.ca !== undefined ? undefined : this.#proxy.context;
      const secured: ConnectionOptions = { socket: tunnel, ...(context !== undefined && { secureContext: context }) };
      created?.(null, super.createConnection({ ...options, ...secured }) as Duplex);
    });
  }
}
