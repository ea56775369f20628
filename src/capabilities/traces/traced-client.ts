import type { AuthorizationServerClient, ServerAnswer } from '../../ports/authorization-server-client.ts';
import type { ServerOperation } from '../../core/model/events.ts';
import { Denial } from '../../core/model/denial.ts';
import type { SpanAttributes, Tracer } from './span.ts';

/**
 * Wraps the client of an authorization server, with a span around each request that a call waits for. If several calls
 * wait for one request, the first has the span. The server gets no trace context: it often belongs to another party.
 */
export function traceClient(client: AuthorizationServerClient, tracer: Tracer): AuthorizationServerClient {
  async function measured(
    method: 'GET' | 'POST',
    operation: ServerOperation,
    url: string,
    ask: () => Promise<ServerAnswer>,
  ): Promise<ServerAnswer> {
    const parent = tracer.current();
    if (parent === undefined) return await ask();
    const span = tracer.begin(parent, `${method} ${operation}`, 'client', {
      'http.request.method': method,
      ...serverAddress(url),
      'sallyport.authorization_server': client.server.name,
    });
    try {
      const answer = await ask();
      span.set({ 'http.response.status_code': answer.status });
      if (answer.status >= 400) span.fail(String(answer.status));
      return answer;
    } catch (error) {
      span.fail(error instanceof Denial ? error.reason : 'gateway.error');
      throw error;
    } finally {
      span.end();
    }
  }

  return {
    ...client,
    get: (operation, url) => measured('GET', operation, url, () => client.get(operation, url)),
    post: (operation, url, ...rest) => measured('POST', operation, url, () => client.post(operation, url, ...rest)),
  };
}

/** The server of a URL, as attributes of a span. */
export function serverAddress(url: string): SpanAttributes {
  const { hostname, port, protocol } = new URL(url);
  return { 'server.address': hostname, 'server.port': Number(port) || (protocol === 'https:' ? 443 : 80) };
}
