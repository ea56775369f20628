import { randomBytes } from 'node:crypto';
import { createServerClient } from '../../tokens/servers/client.ts';
import { ownMember } from '../../core/lib/json/own-member.ts';
import type { AuthorizationServerClient } from '../../ports/authorization-server-client.ts';
import type { Config } from '../../ports/config.ts';
import { Denial } from '../../core/model/denial.ts';
import type { PresentedToken } from '../../core/model/grant.ts';
import type { Principal } from '../../core/model/principal.ts';
import { remedyForSecret } from '../../tokens/servers/secret-remedy.ts';
import { type Finding, type Findings, findingsOn, remedyForReason } from '../finding.ts';
import { createOwnTokens } from './issued-token.ts';
import { requestToken } from './gateway-token.ts';
import { type GatewayGrant, type TokenExchange, upstreamToken } from './slot.ts';
import { createTokenExchange } from './token-exchange.ts';

/** Examines each exchange by a made-up token: what the server says of the gateway and of the target is seen so. */
export async function examineExchanges({ routes }: Pick<Config, 'routes'>): Promise<readonly Finding[]> {
  const found = routes.flatMap((route) => {
    const token = upstreamToken.of(route);
    if (token?.kind === 'client_credentials') return examineGrant(route.name, token.grant);
    return token?.kind === 'exchange' ? examineExchange(route.name, token.exchange) : [];
  });
  return Promise.all(found);
}

/** Gets a token of the gateway's own, as a call would. */
async function examineGrant(route: string, grant: GatewayGrant): Promise<Finding> {
  const on = findingsOn(`routes.${route}.upstream.client_credentials`);
  const client = createServerClient(grant.server, () => {}, Date.now);
  const refused: Refusal[] = [];
  try {
    await requestToken(grant, watched(client, refused), Date.now);
    return on.ok(`the server grants ${grant.credentials.clientId} a token for the upstream`);
  } catch (error) {
    if (!(error instanceof Denial)) throw error;
    const [refusal] = refused;
    if (refusal !== undefined) return await findingOn(on, grant, refusal, 'client_credentials');
    const remedy = 'calls on the route get 502 or 503: check client_credentials, and that the server is reachable';
    return on.fail(error.detail, remedyForReason(error.detail, remedy));
  } finally {
    client.close();
  }
}

async function examineExchange(route: string, exchange: TokenExchange): Promise<Finding> {
  const on = findingsOn(`routes.${route}.upstream.exchange`);
  const client = createServerClient(exchange.server, () => {}, Date.now);
  const refused: Refusal[] = [];
  try {
    await tryExchange(exchange, watched(client, refused));
    return on.fail('the server exchanges a made-up token', 'any caller could get a token so: repair it there');
  } catch (error) {
    if (!(error instanceof Denial)) throw error;
    const [refusal] = refused;
    if (refusal !== undefined) return await findingOn(on, exchange, refusal);
    const remedy = 'calls on the route get 502 or 503: check exchange, and that the server is reachable from here';
    return on.fail(error.detail, remedyForReason(error.detail, remedy));
  } finally {
    client.close();
  }
}

/** The request of a call, with a token that no server has issued. */
async function tryExchange(exchange: TokenExchange, client: AuthorizationServerClient): Promise<void> {
  const actor = exchange.actor === 'none' ? undefined : createOwnTokens(Date.now)(exchange, client);
  const ask = createTokenExchange(exchange, { client, actor, revalidate: () => Promise.resolve(), clock: Date.now });
  const part = (): string => randomBytes(24).toString('base64url');
  const token = { scheme: 'bearer', value: [part(), part(), part()].join('.') } as PresentedToken;
  const caller = { issuer: exchange.server.issuer, grantedScopes: [], form: 'opaque' } as unknown as Principal;
  await ask(token, caller);
}

interface Refusal {
  readonly endpoint: string;
  readonly form: URLSearchParams;
  readonly status: number;
  readonly error: unknown;
}

function watched(client: AuthorizationServerClient, refused: Refusal[]): AuthorizationServerClient {
  return {
    ...client,
    async post(operation, endpoint, form, ...rest) {
      const answer = await client.post(operation, endpoint, form, ...rest);
      const { status, body } = answer;
      if (status !== 200) refused.push({ endpoint, form, status, error: ownMember(body, 'error') });
      return answer;
    },
  };
}

/** What to do, by the error of RFC 6749 §5.2, RFC 8693 §2.2.2 and RFC 8707 §2. */
const remedies: Readonly<Record<string, string>> = {
  unsupported_grant_type: 'enable token exchange there, or set exchange.grant',
  unauthorized_client: 'allow the client of the gateway to exchange tokens there',
  invalid_target: 'set exchange.audience and exchange.resource to what the server knows',
  invalid_scope: 'set exchange.scope to scopes that the server grants for the audience',
};

async function findingOn(
  on: Findings,
  { credentials }: Pick<TokenExchange, 'credentials'>,
  { endpoint, form, status, error }: Refusal,
  key: 'exchange' | 'client_credentials' = 'exchange',
): Promise<Finding> {
  const { clientId } = credentials;
  if (status === 401 || error === 'invalid_client') {
    const text = `the server refuses the credentials of ${clientId} (${status})`;
    if (credentials.clientAuth === 'private_key_jwt') {
      return on.fail(text, `check ${key}.client_id, and that its key is registered there`);
    }
    const isAccepted = (answered: number, again: unknown): boolean => answered !== 401 && again !== 'invalid_client';
    return on.fail(text, await remedyForSecret(credentials, { endpoint, form, isAccepted }));
  }
  const code = typeof error === 'string' ? error : 'no error';
  if (key === 'exchange' && (code === 'invalid_grant' || code === 'invalid_request')) {
    const unseen = 'whether it exchanges the tokens of callers is seen at the first call';
    return on.ok(`the server accepts the credentials of ${clientId}, and refuses a made-up token (${code}): ${unseen}`);
  }
  const text = `the server answers ${status} ${code} to ${key === 'exchange' ? 'an exchange' : 'the gateway'}`;
  const remedy = remedies[code]?.replaceAll('exchange.', `${key}.`);
  return remedy === undefined ? on.warn(text, 'look at its log, and call once') : on.fail(text, remedy);
}
