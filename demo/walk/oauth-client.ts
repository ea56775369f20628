import type {
  OAuthClientMetadata,
  OAuthClientProvider,
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from '@modelcontextprotocol/client';

/** The callback URL for the simulated browser; no server listens there. */
export const redirectUrl = 'http://127.0.0.1:8976/callback';

/**
 * The OAuth state of an MCP client and its user, in memory. The SDK reads it, and reports here when it needs the user's
 * browser. The walk then drives the browser and passes the callback to the SDK.
 */
export class WalkingClient implements OAuthClientProvider {
  readonly redirectUrl = redirectUrl;
  /** The metadata of its registration, R-200. */
  readonly clientMetadata: OAuthClientMetadata;
  #information: StoredOAuthClientInformation | undefined;
  #tokens: StoredOAuthTokens | undefined;
  #verifier = '';
  #discovery: OAuthDiscoveryState | undefined;
  #authorizationUrl: URL | undefined;

  /**
   * @param information of a registered client; without it, the SDK registers a new one.
   * @param grants of its registration.
   */
  constructor(information?: StoredOAuthClientInformation, grants: readonly string[] = ['authorization_code']) {
    this.#information = information;
    this.clientMetadata = {
      client_name: 'Demo walk',
      redirect_uris: [redirectUrl],
      grant_types: [...grants],
      response_types: ['code'],
      token_endpoint_auth_method: 'client_secret_post',
    };
  }

  /** Whether it has asked for refresh tokens. */
  get refreshes(): boolean {
    return this.clientMetadata.grant_types?.includes('refresh_token') === true;
  }

  /** The URL to which the SDK sends its user now; returned once. */
  takeAuthorizationUrl(): URL {
    const url = this.#authorizationUrl;
    if (!url) throw new Error('The client did not send its user to the authorization server');
    this.#authorizationUrl = undefined;
    return url;
  }

  redirectToAuthorization(url: URL): void {
    this.#authorizationUrl = url;
  }
  state(): string {
    return crypto.randomUUID();
  }
  clientInformation(): StoredOAuthClientInformation | undefined {
    return this.#information;
  }
  saveClientInformation(information: StoredOAuthClientInformation): void {
    this.#information = information;
  }
  tokens(): StoredOAuthTokens | undefined {
    return this.#tokens;
  }
  saveTokens(tokens: StoredOAuthTokens): void {
    this.#tokens = tokens;
  }
  /** The SDK reports here what the authorization server refuses. */
  invalidateCredentials(which: 'all' | 'client' | 'tokens' | 'verifier' | 'discovery'): void {
    if (which === 'tokens' || which === 'all') this.#tokens = undefined;
  }
  codeVerifier(): string {
    return this.#verifier;
  }
  saveCodeVerifier(verifier: string): void {
    this.#verifier = verifier;
  }
  discoveryState(): OAuthDiscoveryState | undefined {
    return this.#discovery;
  }
  saveDiscoveryState(state: OAuthDiscoveryState): void {
    this.#discovery = state;
  }
}
