import { compactVerify, type CryptoKey, importJWK } from 'jose';
import * as openid from 'openid-client';
import { basicCredentials } from '../tokens/servers/client-authentication.ts';
import { signatureAlgorithms } from '../tokens/servers/key-algorithms.ts';
import { reachable } from '../tokens/servers/discovery.ts';
import type { Clock } from '../core/lib/clock.ts';
import type { IdentityProvider } from '../ports/front-door.ts';
import { createClaimsReader, type MappedClaims, requireSubject } from './people.ts';
import { loadHourly } from '../core/lib/single-flight.ts';
import { ensure } from '../core/lib/remembered.ts';
import { createKeysAt, discoverIssuer, type RemoteKeys, verifiedBy } from './issuer-discovery.ts';

/** A sign-in at a provider, as it was begun. */
export interface SignInChecks {
  readonly state: string;
  readonly nonce: string;
  readonly codeVerifier: string;
  /** How old the sign-in at the provider may be, in seconds; undefined: any age. */
  readonly maxAgeSeconds: number | undefined;
  /** The values of `acr` that the client asks for, in the order of its preference; undefined: any. */
  readonly acrValues?: string | undefined;
  /** Whether the person must sign in again at the provider. */
  readonly mustBeNew: boolean;
  /** When it was begun (ms since the epoch). */
  readonly beganAt: number;
}

/** A person, as a provider asserts. */
export interface Identity {
  readonly subject: string;
  /** When the person signed in there (seconds since the epoch); undefined if the provider does not say. */
  readonly authTime: number | undefined;
  /** How the person signed in there, as the provider says. */
  readonly acr: string | undefined;
  /** The session there. */
  readonly sid: unknown;
  readonly email: unknown;
  readonly claims: MappedClaims;
  /** What people recognize themselves by, for our pages alone. */
  readonly label: string | undefined;
}

/** The person signed in at the provider in another way than the client asked for. */
export class UnmetAuthentication extends Error {
  override readonly name = 'UnmetAuthentication';

  constructor() {
    super('acr of the ID token is none of those that were asked for');
  }
}

/** The front door as a client of one identity provider. */
export interface ProviderClient {
  readonly settings: IdentityProvider;
  readonly redirectUri: string;
  /** The URL that begins a sign-in. Throws if the provider cannot be discovered. */
  begin(checks: SignInChecks, loginHint: string | undefined): Promise<URL>;
  /** Verifies the answer of the provider. Throws for any that does not belong to this sign-in. */
  finish(answer: URL, checks: SignInChecks): Promise<Identity>;
  /** Redeems a code that does not exist. Throws if the provider cannot be discovered. */
  tryCredentials(): Promise<TriedCredentials>;
}

/** The answer of a provider to a code that does not exist. */
interface TriedCredentials {
  /** `invalid_grant` if the provider accepts the client. */
  readonly error: string;
  readonly tokenEndpoint: string;
  /** The request without the client. */
  readonly form: URLSearchParams;
  /** `claims_supported` of the provider; undefined: its metadata do not say. */
  readonly claims: readonly string[] | undefined;
}

const TIMEOUT_SECONDS = 10;
const CLOCK_TOLERANCE_SECONDS = 5;
/** How far the clock of a provider may be ahead. */
const MAX_SKEW_SECONDS = 60;

/** Creates a client of `settings`. It discovers the provider at the first sign-in, and again each hour. */
export function createProviderClient(settings: IdentityProvider, redirectUri: string, clock: Clock): ProviderClient {
  const reader = createClaimsReader(settings.claims);
  const configuration = loadHourly(() => discover(settings), clock);
  const keys = new WeakMap<openid.Configuration, RemoteKeys>();

  /** Through TLS the ID token is the provider's anyway (OpenID Connect Core §3.1.3.7); http and proxies exist too. */
  async function requireSignature(idToken: string, provider: openid.Configuration): Promise<void> {
    const { jwks_uri: jwksUri } = provider.serverMetadata();
    if (jwksUri === undefined) throw new Error('the metadata have no jwks_uri');
    const published = ensure(keys, provider, () => createKeysAt(jwksUri, settings));
    const algorithms = [...signatureAlgorithms];
    await verifiedBy(published, () => compactVerify(idToken, published, { algorithms }));
  }

  /** What the userinfo endpoint adds. A name is for pages alone: without an answer, the person has none. */
  async function userInfoFor(
    provider: openid.Configuration,
    idToken: openid.IDToken,
    accessToken: string,
  ): Promise<Partial<openid.UserInfoResponse>> {
    if (provider.serverMetadata().userinfo_endpoint === undefined) return {};
    const isNeeded = reader.lacks(idToken);
    if (!isNeeded && labelOf(idToken) !== undefined) return {};
    const found = openid.fetchUserInfo(provider, accessToken, idToken.sub);
    return isNeeded ? found : found.catch(() => ({}));
  }

  return {
    settings,
    redirectUri,
    async begin({ state, nonce, codeVerifier, maxAgeSeconds, acrValues, mustBeNew }, loginHint) {
      const maxAge = mustBeNew ? 0 : maxAgeSeconds;
      return openid.buildAuthorizationUrl(await configuration(), {
        redirect_uri: redirectUri,
        scope: settings.scopes.join(' '),
        state,
        nonce,
        // RFC 9700 §2.1.1. Also where the provider does not say that it knows PKCE: it ignores what it does not know.
        code_challenge: await openid.calculatePKCECodeChallenge(codeVerifier),
        code_challenge_method: 'S256',
        ...(maxAge !== undefined && { max_age: String(maxAge) }),
        ...(acrValues !== undefined && { acr_values: acrValues }),
        ...(loginHint !== undefined && { login_hint: loginHint }),
      });
    },
    async finish(answer, { state, nonce, codeVerifier, maxAgeSeconds = Infinity, acrValues, mustBeNew, beganAt }) {
      const maxAge = Math.min(maxAgeSeconds, mustBeNew ? Math.ceil((clock() - beganAt) / 1000) : Infinity);
      const provider = await configuration();
      const tokens = await openid.authorizationCodeGrant(provider, answer, {
        expectedState: state,
        expectedNonce: nonce,
        pkceCodeVerifier: codeVerifier,
        idTokenExpected: true,
        ...(maxAge !== Infinity && { maxAge }),
      });
      const idToken = tokens.claims();
      if (idToken === undefined) throw new Error('the provider sent no ID token');
      await requireSignature(tokens.id_token ?? '', provider);
      requireSubject(idToken.sub);
      // OpenID Connect Core §3.1.3.7: with one audience openid-client does not look at `azp`.
      if ((idToken.azp ?? settings.credentials.clientId) !== settings.credentials.clientId) {
        throw new Error('azp of the ID token is another client');
      }
      // A sign-in dated in the future, by a time in milliseconds for example, would never be too old.
      if ((idToken.auth_time ?? 0) > clock() / 1000 + MAX_SKEW_SECONDS) {
        throw new Error('auth_time of the ID token is in the future');
      }
      const acr = typeof idToken['acr'] === 'string' ? idToken['acr'] : undefined;
      // The provider may ignore what it was asked for: OpenID Connect Core §3.1.2.1 makes it a wish.
      if (acrValues !== undefined && (acr === undefined || !acrValues.split(' ').includes(acr)))
        throw new UnmetAuthentication();
      const userInfo = await userInfoFor(provider, idToken, tokens.access_token);
      return {
        subject: idToken.sub,
        authTime: idToken.auth_time,
        acr,
        sid: idToken['sid'],
        email: idToken['email_verified'] === false ? undefined : idToken['email'],
        claims: reader.read(idToken, userInfo),
        label: labelOf(idToken) ?? labelOf(userInfo),
      };
    },
    async tryCredentials() {
      const provider = await configuration();
      const madeUp = openid.randomPKCECodeVerifier();
      const parameters = { code: madeUp, redirect_uri: redirectUri, code_verifier: madeUp };
      const error = await errorOf(openid.genericGrantRequest(provider, 'authorization_code', parameters));
      const form = new URLSearchParams({ grant_type: 'authorization_code', ...parameters });
      const { token_endpoint: endpoint = '', claims_supported: claims } = provider.serverMetadata();
      return { error, tokenEndpoint: reachable(endpoint, settings), form, claims };
    },
  };
}

/** The `error` of a provider for a request without a code. */
async function errorOf(request: Promise<unknown>): Promise<string> {
  try {
    await request;
  } catch (error) {
    if (error instanceof openid.ResponseBodyError) return error.error;
    if (error instanceof openid.WWWAuthenticateChallengeError) return 'invalid_client';
    throw error;
  }
  return 'a token';
}

async function discover({ credentials, ...provider }: IdentityProvider): Promise<openid.Configuration> {
  return await discoverIssuer(provider, {
    metadata: { client_id: credentials.clientId, [openid.clockTolerance]: CLOCK_TOLERANCE_SECONDS },
    auth: await clientAuthOf(credentials),
    timeoutSeconds: TIMEOUT_SECONDS,
  });
}

async function clientAuthOf(credentials: IdentityProvider['credentials']): Promise<openid.ClientAuth> {
  switch (credentials.clientAuth) {
    case 'none':
      return openid.None();
    case 'client_secret_basic':
      return (_server, { client_id: clientId }, _body, headers) =>
        headers.set('authorization', basicCredentials(clientId, credentials.clientSecret));
    case 'client_secret_post':
      return openid.ClientSecretPost(credentials.clientSecret);
    case 'private_key_jwt': {
      const { key, algorithm, keyId } = credentials;
      const imported = (await importJWK(key.export({ format: 'jwk' }), algorithm)) as CryptoKey;
      return openid.PrivateKeyJwt(keyId === undefined ? imported : { key: imported, kid: keyId });
    }
    default:
      throw new TypeError(`${String(credentials satisfies never)} is not a client authentication`);
  }
}

/** What people know a person by. An unverified address, in whatever claim, could be that of another person. */
export function labelOf({
  email,
  email_verified: isVerified,
  preferred_username: username,
  name,
}: Partial<openid.UserInfoResponse>): string | undefined {
  const isName = (text: unknown): text is string => typeof text === 'string' && text !== '' && !text.includes('@');
  const label = isVerified === true && typeof email === 'string' ? email : [username, name].find(isName);
  return label?.slice(0, 200);
}

/** The provider of an address, by its suffix; undefined: none has it. */
export type ProviderOfAddress = (address: string) => IdentityProvider | undefined;

/**
 * Creates the choice of a provider. Only whole labels count: `acme.com` covers `x.acme.com`, and never `evilacme.com`.
 * The longest suffix wins.
 */
export function createProviderOfAddress(providers: Iterable<IdentityProvider>): ProviderOfAddress {
  const byDomain = new Map(
    [...providers].flatMap((provider) => provider.domains.map((each) => [each, provider] as const)),
  );
  return (address) => {
    const [, host] = /^[^@\s]+@([a-z0-9.-]+)$/.exec(address.trim().toLowerCase()) ?? [];
    const labels = host?.split('.') ?? [];
    return labels.map((_, index) => byDomain.get(labels.slice(index).join('.'))).find((found) => found !== undefined);
  };
}
