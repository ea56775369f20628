import { randomUUID } from 'node:crypto';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import type { Provider } from 'oidc-provider';

/** The Shared Signals of the authorization server: where they come from, and where they go. */
export interface SecurityEvents {
  /** The `iss` of the events, SSF 1.0 §7.1: an origin by which the receiver reaches this server. */
  readonly transmitter: string;
  /** The URL that events are pushed to, RFC 8935. */
  readonly endpoint: string;
  /** The `aud` of the events. */
  readonly audience: string;
}

const sessionRevoked = 'https://schemas.openid.net/secevent/caep/event-type/session-revoked';
const jwksPath = '/security-events/jwks';

/** Pushes a signed `session-revoked` (CAEP 1.0 §3.1) when a user has signed out. */
export async function transmitSignOuts(
  provider: Provider,
  { transmitter, endpoint, audience }: SecurityEvents,
): Promise<void> {
  const { privateKey, publicKey } = await generateKeyPair('ES256');
  const header = { alg: 'ES256', kid: randomUUID(), typ: 'secevent+jwt' };
  const documents: Readonly<Record<string, object>> = {
    '/.well-known/ssf-configuration': {
      spec_version: '1_0',
      issuer: transmitter,
      jwks_uri: transmitter + jwksPath,
      delivery_methods_supported: ['urn:ietf:rfc:8935'],
    },
    [jwksPath]: { keys: [{ ...(await exportJWK(publicKey)), ...header, typ: undefined, use: 'sig' }] },
  };
  provider.use(async (ctx, next) => {
    const document = documents[ctx.path];
    if (document === undefined) await next();
    else ctx.body = document;
  });

  provider.on('session.destroyed', ({ accountId }) => {
    if (accountId !== undefined) push(accountId).catch((error: unknown) => console.error(error));
  });

  async function push(subject: string): Promise<void> {
    const iat = Math.floor(Date.now() / 1000);
    const event = { event_timestamp: iat, initiating_entity: 'user' };
    const set = await new SignJWT({
      iss: transmitter,
      aud: audience,
      iat,
      jti: randomUUID(),
      sub_id: { format: 'iss_sub', iss: provider.issuer, sub: subject },
      events: { [sessionRevoked]: event },
    })
      .setProtectedHeader(header)
      .sign(privateKey);
    const headers = { 'content-type': 'application/secevent+jwt', accept: 'application/json' };
    const { status } = await fetch(endpoint, { method: 'POST', headers, body: set });
    if (status !== 202) throw new Error(`${endpoint} answered the event with ${status}`);
  }
}
