import type { AuthorizationServerClient, ServerAnswer, ServerOperation } from '../model/authorization-server.ts';
import { Denial } from '../model/denial.ts';
import type { SpanAttributes, Tracer } from '../model/tracer.ts';

/**
 * The way to an authorization server, with a span around each question that a call waits for; of those that wait together
 * the one which asked first has it. The server is told nothing of the trace: it is often somebody else's.
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

/** Which server a URL names, as spans say it. */
export function serverAddress(url: string): SpanAttributes {
  const { hostname, port, protocol } = new URL(url);
  return { 'server.address': hostname, 'server.port': Number(port) || (protocol === 'https:' ? 443 : 80) };
}
