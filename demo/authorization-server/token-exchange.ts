import { errors, type AccessToken, type Provider, type TokenEndpointGrantContext } from 'oidc-provider';

import { resourceServer, type Resource, type Resources } from './resources.ts';
import { tokenExchangeGrant } from './clients.ts';

const accessTokenType = 'urn:ietf:params:oauth:token-type:access_token';
const jwtType = 'urn:ietf:params:oauth:token-type:jwt';

interface ExchangeParameters {
  readonly subject_token?: string;
  readonly subject_token_type?: string;
  readonly actor_token?: string;
  readonly actor_token_type?: string;
  readonly requested_token_type?: string;
  readonly audience?: string | string[];
  readonly resource?: string | string[];
  readonly scope?: string;
}

type ExchangeContext = TokenEndpointGrantContext<ExchangeParameters>;

/** The place where the handler stores the subject token for `extraTokenClaims`. */
export const subjectTokenEntity = 'SubjectToken';

/** The lifetime of a token with these scopes, in seconds. */
type Lifetime = (scopes: Iterable<string>) => number;

/**
 * Adds RFC 8693: the gateway exchanges the opaque token of an MCP call for a JWT for an API. The JWT has the same user
 * and claims, no more scope and no longer lifetime. `act` names the gateway, which may prove its identity by an actor
 * token.
 */
export function addTokenExchange(provider: Provider, resources: Resources, lifetime: Lifetime): void {
  provider.registerGrantType<ExchangeParameters>(
    tokenExchangeGrant,
    (ctx) => exchange(provider, resources, lifetime, ctx),
    [
      'subject_token',
      'subject_token_type',
      'actor_token',
      'actor_token_type',
      'requested_token_type',
      'audience',
      'resource',
      'scope',
    ],
    ['audience', 'resource'],
  );
}

async function exchange(
  provider: Provider,
  resources: Resources,
  lifetime: Lifetime,
  ctx: ExchangeContext,
): Promise<void> {
  const { client, params } = ctx.oidc;
  requireSupportedTypes(params);
  const api = requestedApi(resources, params);
  const subject = await subjectToken(provider, resources, params.subject_token);
  await requireOwnActor(provider, client.clientId, params);
  const server = new provider.ResourceServer(api.uri, resourceServer(api));
  const scopes = grantedScopes(params.scope, subject, server.scopes);

  const now = Math.floor(Date.now() / 1000);
  const token = new provider.AccessToken({
    client,
    accountId: subject.accountId,
    grantId: subject.grantId,
    gty: tokenExchangeGrant,
    resourceServer: server,
    scope: scopes.join(' '),
    exp: Math.min(now + lifetime(scopes), subject.exp ?? now),
  });
  ctx.oidc.entity(subjectTokenEntity, subject);
  ctx.oidc.entity('AccessToken', token);
  const accessToken = await token.save();

  // RFC 8693 §2.2.1
  ctx.body = {
    access_token: accessToken,
    issued_token_type: params.requested_token_type ?? accessTokenType,
    token_type: 'Bearer',
    expires_in: token.remainingTTL,
    scope: token.scope,
  };
}

// RFC 8693 §2.1
function requireSupportedTypes(params: ExchangeParameters): void {
  if (params.subject_token === undefined) throw new errors.InvalidRequest('subject_token is missing');
  if (params.subject_token_type !== accessTokenType) {
    throw new errors.InvalidRequest(`subject_token_type must be ${accessTokenType}`);
  }
  if (params.actor_token === undefined && params.actor_token_type !== undefined) {
    throw new errors.InvalidRequest('actor_token_type without actor_token');
  }
  if (params.actor_token !== undefined && params.actor_token_type !== accessTokenType) {
    throw new errors.InvalidRequest(`actor_token_type must be ${accessTokenType}`);
  }
  if (![undefined, accessTokenType, jwtType].includes(params.requested_token_type)) {
    throw new errors.InvalidRequest(`requested_token_type must be ${accessTokenType} or ${jwtType}`);
  }
}

/** The one API that all of `audience` and `resource` name. */
function requestedApi(resources: Resources, { audience, resource }: ExchangeParameters): Resource {
  const indicators = [audience ?? [], resource ?? []].flat();
  const [first, ...others] = indicators.map((indicator) => resources.find(indicator));
  if (indicators.length === 0) throw new errors.InvalidRequest('audience or resource is missing');
  if (first?.kind !== 'api') throw new errors.InvalidTarget('audience or resource is not an API');
  if (others.some((other) => other !== first)) throw new errors.InvalidTarget('only one target at a time');
  return first;
}

/** RFC 8693 §2.2.2: an invalid subject token, for any reason, MUST be `invalid_request`, not `invalid_grant`. */
async function subjectToken(provider: Provider, resources: Resources, value = ''): Promise<AccessToken> {
  const token = await provider.AccessToken.find(value);
  if (!token || token.isExpired) throw new errors.InvalidRequest('subject_token is unknown or expired');
  const grant = await provider.Grant.find(token.grantId);
  if (!grant || grant.isExpired) throw new errors.InvalidRequest('subject_token was revoked');
  // Otherwise the gateway could launder a token that was never meant to pass through it.
  if (typeof token.aud !== 'string' || resources.find(token.aud)?.kind !== 'mcp') {
    throw new errors.InvalidRequest('subject_token is not for an MCP server');
  }
  return token;
}

/**
 * An actor token must be one that the same client got for itself. With another client's token, the gateway could act in
 * that client's name. RFC 8693 §2.2.2: an invalid one is `invalid_request` too.
 */
async function requireOwnActor(
  provider: Provider,
  clientId: string,
  { actor_token: value }: ExchangeParameters,
): Promise<void> {
  if (value === undefined) return;
  const token = await provider.ClientCredentials.find(value);
  if (!token || token.isExpired) throw new errors.InvalidRequest('actor_token is unknown or expired');
  if (token.clientId !== clientId) throw new errors.InvalidRequest('actor_token is not of this client');
}

/** The requested scopes, or all that the subject token and the API have in common. Never more than the user granted. */
function grantedScopes(asked: string | undefined, subject: AccessToken, available: ReadonlySet<string>): string[] {
  const subjectScopes = new Set(subject.scope?.split(' '));
  const possible = [...available].filter((name) => subjectScopes.has(name));
  const scopes = asked === undefined ? possible : [...new Set(asked.split(' '))];
  if (scopes.length === 0) throw new errors.InvalidScope('the subject token and the API have none in common', '');
  const refused = scopes.find((name) => !possible.includes(name));
  if (refused !== undefined) throw new errors.InvalidScope('the subject token or the API lacks it', refused);
  return scopes;
}
