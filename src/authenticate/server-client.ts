import type { Clock } from '../lib/clock.ts';
import { fetchJson, type FetchJsonOptions } from '../lib/fetch-json.ts';
import type {
  AuthorizationServer,
  AuthorizationServerClient,
  ClientCredentials,
  ServerAnswer,
  ServerOperation,
} from '../model/authorization-server.ts';
import { Denial } from '../model/denial.ts';
import { createDiscovery } from './discovery.ts';

/** Counts one call to an authorization server. */
export type CountServerCall = (server: string, operation: ServerOperation, result: 'ok' | 'refused' | 'error') => void;

/** Creates the way to `server` and begins to discover it; an unreachable server is no error here. */
export function createServerClient(
  server: AuthorizationServer,
  count: CountServerCall,
  clock: Clock,
): AuthorizationServerClient {
  async function ask(
    operation: ServerOperation,
    url: string,
    options: Omit<FetchJsonOptions, 'timeoutMs'>,
  ): Promise<ServerAnswer> {
    try {
      const answer = await fetchJson(url, { ...options, timeoutMs: server.timeoutMs });
      count(server.name, operation, answer.status < 400 ? 'ok' : 'refused');
      if (answer.status < 500 && answer.status !== 429) return answer;
      throw new Error(`${url} answered ${answer.status}`);
    } catch (error) {
      count(server.name, operation, 'error');
      const why = error instanceof Error ? error.message : String(error);
      throw new Denial('authorization_server.unavailable', `${server.name}: ${why}`, { cause: error });
    }
  }

  function get(operation: ServerOperation, url: string): Promise<ServerAnswer> {
    return ask(operation, url, {});
  }

  const discovery = createDiscovery(server, (url) => get('discovery', url), clock);
  return {
    server,
    get,
    post(operation, url, form, credentials) {
      return ask(operation, url, { method: 'POST', ...authenticated(form, credentials) });
    },
    metadata: discovery.metadata,
    state: discovery.state,
    close: discovery.close,
  };
}

/** RFC 6749 §2.3.1: HTTP Basic over the form-encoded id and secret, or both as parameters of the body. */
function authenticated(
  form: URLSearchParams,
  credentials: ClientCredentials,
): Pick<FetchJsonOptions, 'body' | 'headers'> {
  const body = new URLSearchParams(form);
  const { clientId, clientAuth } = credentials;
  if (clientAuth === 'private_key_jwt') throw new TypeError('not yet');
  const { clientSecret } = credentials;
  if (clientAuth === 'client_secret_post') {
    body.set('client_id', clientId);
    body.set('client_secret', clientSecret);
    return { body };
  }
  const pair = `${formEncoded(clientId)}:${formEncoded(clientSecret)}`;
  return { body, headers: { authorization: `Basic ${Buffer.from(pair).toString('base64')}` } };
}

function formEncoded(value: string): string {
  return new URLSearchParams({ v: value }).toString().slice('v='.length);
}
