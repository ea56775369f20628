import { createServer as createPlain, type IncomingMessage, request } from 'node:http';
import { createServer as createSecure } from 'node:https';
import { connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { listen } from '../../demo/listen.ts';
import { pem } from './certificates.ts';
import { keepSecret } from './secrecy.ts';

/** A request as a proxy got it. */
interface ProxyRequest {
  readonly method: string;
  /** `host:port` of CONNECT, otherwise an absolute URL. */
  readonly target: string;
  readonly authorization: string | undefined;
}

/** A proxy that records what it is asked for. Whatever host a target names, it is reached on loopback. */
export interface RecordingProxy {
  /** With the user and password, if it wants them. */
  readonly url: string;
  readonly requests: ProxyRequest[];
  close(): Promise<void>;
}

interface ProxyOptions {
  /** Whether it is an https proxy, by the certificate `server` of the tests. */
  readonly isSecure?: boolean;
  /** `user:password` that it wants. */
  readonly credentials?: string;
  /** The answer to each CONNECT, in bytes, in place of a tunnel. */
  readonly answer?: string;
}

/** Starts a proxy. */
export async function startRecordingProxy(options: ProxyOptions = {}): Promise<RecordingProxy> {
  const { isSecure = false, credentials, answer } = options;
  const requests: ProxyRequest[] = [];
  const tunnels = new Set<Socket | Duplex>();
  keepSecret(credentials?.split(':')[1]);

  function isRefused({ method = '', url = '', headers }: IncomingMessage): boolean {
    const authorization = headers['proxy-authorization'];
    requests.push({ method, target: url, authorization });
    return credentials !== undefined && authorization !== `Basic ${Buffer.from(credentials).toString('base64')}`;
  }

  const server = isSecure ? createSecure({ cert: pem('server'), key: pem('server-key') }) : createPlain();
  server.on('request', (incoming, response) => {
    if (isRefused(incoming)) return void response.writeHead(407).end();
    const { pathname, search, port, host } = new URL(incoming.url ?? '');
    const { 'proxy-authorization': _own, 'proxy-connection': _hop, ...headers } = incoming.headers;
    const onward = request(
      { host: '127.0.0.1', port, path: pathname + search, method: incoming.method, headers: { ...headers, host } },
      (answered) => {
        response.writeHead(answered.statusCode ?? 502, answered.headers);
        answered.pipe(response);
      },
    );
    onward.on('error', () => response.writeHead(502).end());
    return incoming.pipe(onward);
  });
  server.on('connect', (incoming: IncomingMessage, client: Duplex, head: Buffer) => {
    tunnels.add(client);
    client.on('error', () => {});
    if (isRefused(incoming)) return void client.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n');
    if (answer !== undefined) return void client.end(answer);
    const port = Number(incoming.url?.split(':').at(-1));
    const onward = connect(port, '127.0.0.1', () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n');
      onward.write(head);
      onward.pipe(client).pipe(onward);
    });
    tunnels.add(onward);
    return onward.on('error', () => client.destroy());
  });
  const { url, close } = await listen(server, 0);
  const place = url.slice('http://'.length);
  return {
    url: `http${isSecure ? 's' : ''}://${credentials === undefined ? '' : `${credentials}@`}${place}`,
    requests,
    async close() {
      for (const tunnel of tunnels) tunnel.destroy();
      await close();
    },
  };
}
