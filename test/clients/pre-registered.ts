import { demoApiClient } from '../../demo/obtain-token.ts';
import { redirectUrl, WalkingClient } from '../../demo/walk/oauth-client.ts';

/** What a client of the authorization server's own people keeps: the only ones that get refresh tokens. */
export function preRegistered(issuer: string): WalkingClient {
  const { clientId, clientSecret = '' } = demoApiClient;
  return new WalkingClient({
    client_id: clientId,
    client_secret: clientSecret,
    issuer,
    redirect_uris: [redirectUrl],
  });
}
