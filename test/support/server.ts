import type { AuthorizationServer } from '../../src/core/model/authorization-server.ts';
import type { Issuer } from './issuer.ts';

/** An authorization server as the loader returns it, with the changes of a test. */
export function serverOf(
  issuer: Pick<Issuer, 'url'>,
  otherwise: Partial<AuthorizationServer> = {},
): AuthorizationServer {
  return {
    name: 'main',
    issuer: issuer.url,
    backchannel: issuer.url,
    jwt: { algorithms: ['RS256'], types: undefined, jwksUri: undefined },
    introspection: {
      credentials: { clientId: 'gateway', clientSecret: 'secret', clientAuth: 'client_secret_basic' },
      response: { kind: 'json' },
      prefix: undefined,
      endpoint: undefined,
      cacheMs: 30_000,
      audience: 'required',
    },
    clockToleranceMs: 5_000,
    timeoutMs: 10_000,
    staleMs: 24 * 3_600_000,
    ...otherwise,
  };
}
