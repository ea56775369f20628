import type { SpanAttributes } from '../model/tracer.ts';

/** Which server a URL names, as spans say it. */
export function serverAddress(url: string): SpanAttributes {
  const { hostname, port, protocol } = new URL(url);
  return { 'server.address': hostname, 'server.port': Number(port) || (protocol === 'https:' ? 443 : 80) };
}
