import { createHash } from 'node:crypto';
import type { Clock } from '../lib/clock.ts';
import { createExpiringCache } from '../lib/expiring-cache.ts';
import { createSingleFlight } from '../lib/single-flight.ts';
import type { AuthorizationServerClient, ServerAnswer } from '../model/authorization-server.ts';
import { Denial } from '../model/denial.ts';
import type { AccessToken, Grant, PresentedToken, UpstreamCredential } from '../model/grant.ts';
import type { TokenExchange, Upstream } from '../model/route.ts';

/** Grant → what the upstream gets as `Authorization`. */
export type Exchange = (
  grant: Grant,
  token: PresentedToken | undefined,
) => UpstreamCredential | Promise<UpstreamCredential>;

const ACCESS_TOKEN = 'urn:ietf:params:oauth:token-type:access_token';
const JWT = 'urn:ietf:params:oauth:token-type:jwt';
const MAX_CREDENTIALS = 20_000;
/** A credential that ends while it is on its way is refused upstream; it is renewed this much before its end. */
const EARLY = 0.1;

interface Credential {
  readonly value: string;
  /** Milliseconds; undefined where the server did not say how long it lives: used once. */
  readonly lifetimeMs: number | undefined;
}

/** Creates what a route does about its upstream's credential. */
export function createExchange(
  upstream: Upstream,
  clients: ReadonlyMap<string, AuthorizationServerClient>,
  clock: Clock,
): Exchange {
  const { token: wanted } = upstream;
  switch (wanted.kind) {
    case 'none':
      return () => undefined;
    case 'phantom':
      throw new TypeError('phantom tokens are not sent yet');
    case 'forward':
      return (_grant, token) => credential(`Bearer ${required(token)}`);
    case 'exchange': {
      const client = clients.get(wanted.exchange.server.name);
      if (client === undefined) throw new TypeError(`no client for ${wanted.exchange.server.name}`);
      return createTokenExchange(wanted.exchange, client, clock);
    }
  }
}

/**
 * RFC 8693 §2.1: the client's token for one of another audience. One request in flight for each subject token, the
 * answer kept until shortly before it ends, and never past the end of the token that it was made from.
 */
function createTokenExchange(exchange: TokenExchange, client: AuthorizationServerClient, clock: Clock): Exchange {
  const kept = createExpiringCache<Credential>(MAX_CREDENTIALS, clock);
  const flight = createSingleFlight<Credential>();
  const { audience, resource, scope } = exchange;
  const purpose = [client.server.issuer, audience ?? '', resource ?? '', scope.join(' ')];

  return (grant, token) => {
    const subjectToken = required(token);
    const key = digest([subjectToken, grant.principal?.issuer ?? '', ...purpose]);
    const known = kept.get(key);
    if (known !== undefined) return credential(known.value);
    return flight(key, async () => {
      const made = await request(exchange, client, subjectToken);
      if (made.lifetimeMs !== undefined) {
        const subjectEnds = (grant.principal?.expiresAt ?? Infinity) * 1000;
        kept.set(key, made, Math.min(clock() + made.lifetimeMs * (1 - EARLY), subjectEnds));
      }
      return made;
    }).then((made) => credential(made.value));
  };
}

async function request(
  exchange: TokenExchange,
  client: AuthorizationServerClient,
  subjectToken: AccessToken,
): Promise<Credential> {
  const endpoint = exchange.endpoint ?? (await client.metadata()).tokenEndpoint;
  if (endpoint === undefined)
    throw new Denial('exchange.refused', 'the metadata has no token_endpoint; set exchange.endpoint');
  const form = new URLSearchParams({
    grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
    subject_token: subjectToken,
    subject_token_type: ACCESS_TOKEN,
    requested_token_type: ACCESS_TOKEN,
  });
  if (exchange.audience !== undefined) form.set('audience', exchange.audience);
  if (exchange.resource !== undefined) form.set('resource', exchange.resource);
  if (exchange.scope.length > 0) form.set('scope', exchange.scope.join(' '));
  return read(await client.post('exchange', endpoint, form, exchange.credentials));
}

/** RFC 8693 §2.2: what is not plainly a bearer access token goes nowhere. */
function read({ status, body }: ServerAnswer): Credential {
  const answer = (typeof body === 'object' && body !== null ? body : {}) as Record<string, unknown>;
  if (status !== 200) {
    const error = typeof answer['error'] === 'string' ? answer['error'].slice(0, 64) : 'no error code';
    // RFC 6749 §5.2: the subject token has ended meanwhile. A new one mends it; nothing else that the client can do would.
    if (error === 'invalid_grant')
      throw new Denial('token.inactive', 'the exchange says that the subject token is not valid');
    throw new Denial('exchange.refused', `the exchange was refused with ${status} ${JSON.stringify(error)}`);
  }
  const { access_token: value, token_type: type, issued_token_type: issued, expires_in: seconds } = answer;
  if (typeof value !== 'string' || !/^[A-Za-z0-9\-._~+/]+=*$/.test(value)) {
    throw new Denial('exchange.invalid', 'the answer has no access_token');
  }
  if (typeof type !== 'string' || type.toLowerCase() !== 'bearer') {
    throw new Denial('exchange.invalid', 'the answer is not a token_type Bearer');
  }
  // A refresh token is a Bearer to nobody but its own server; who gets it could renew for ever.
  if (issued !== undefined && issued !== ACCESS_TOKEN && issued !== JWT) {
    throw new Denial('exchange.invalid', 'issued_token_type is neither an access token nor a JWT');
  }
  if (seconds === undefined) return { value: `Bearer ${value}`, lifetimeMs: undefined };
  if (typeof seconds !== 'number' || !Number.isFinite(seconds) || seconds <= 0) {
    throw new Denial('exchange.invalid', 'expires_in is not a positive number');
  }
  return { value: `Bearer ${value}`, lifetimeMs: seconds * 1000 };
}

/** Each part with its length before it: no two lists of parts make one string. */
function digest(parts: readonly string[]): string {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(`${Buffer.byteLength(part)}:`).update(part);
  return hash.digest('base64url');
}

function required(token: PresentedToken | undefined): AccessToken {
  if (token === undefined) throw new TypeError('a credential for the upstream needs the token of the caller');
  return token.value;
}

function credential(value: string): UpstreamCredential {
  return value as NonNullable<UpstreamCredential>;
}
