import type {
  AuthorizationServer,
  ClientCredentials,
  Introspection,
  JwtValidation,
} from '../model/authorization-server.ts';
import { didYouMean } from './did-you-mean.ts';
import type { Field } from './field.ts';
import { endpointUrl, plainUrl } from './urls.ts';
import { algorithm, duration, oneOf, refuse, tokenType } from './values.ts';

/** `authorization_servers` by name. What is wrong is reported to the fields; the result is then not to be used. */
export function readAuthorizationServers(field: Field): ReadonlyMap<string, AuthorizationServer> {
  const servers = new Map<string, AuthorizationServer>();
  for (const [name, server] of field.entries()) {
    const issuer = server.get('issuer').read(plainUrl) ?? '';
    const jwt = server.get('jwt');
    const introspection = server.get('introspection');
    if (!jwt.present && !introspection.present) server.refuse('needs jwt, introspection or both', 'key');
    for (const other of servers.values()) {
      // A token names its issuer, not our name for it: which of two settings would count?
      if (issuer !== '' && other.issuer === issuer) {
        server.get('issuer').refuse(`is also the issuer of authorization_servers.${other.name}`);
      }
    }
    servers.set(name, {
      name,
      issuer,
      backchannel: server.get('backchannel').read(plainUrl) ?? issuer,
      jwt: jwt.present ? readJwt(jwt) : undefined,
      introspection: introspection.present ? readIntrospection(introspection) : undefined,
      clockToleranceMs: server.get('clock_tolerance').read(duration('0s', '5m')) ?? 5000,
      timeoutMs: server.get('timeout').read(duration('1ms')) ?? 5000,
      staleMs: 24 * 3_600_000,
    });
  }
  return servers;
}

/** Reads a server's name as the server. */
export function serverIn(servers: ReadonlyMap<string, AuthorizationServer>): (name: string) => AuthorizationServer {
  return (name) => {
    const server = servers.get(name);
    if (server !== undefined) return server;
    const near = didYouMean(name, [...servers.keys()]);
    return refuse('is not in authorization_servers', near === undefined ? undefined : `did you mean ${near}?`);
  };
}

function readJwt(field: Field): JwtValidation {
  return {
    algorithms: field.get('algorithms').list(algorithm),
    types: field.get('types').present ? field.get('types').list(tokenType) : undefined,
    jwksUri: field.get('jwks').read(endpointUrl),
  };
}

function readIntrospection(field: Field): Introspection {
  return {
    credentials: readCredentials(field, undefined),
    response: { kind: 'json' },
    endpoint: field.get('endpoint').read(endpointUrl),
    cacheMs: field.get('cache').read(duration('0s')) ?? 30_000,
    audience: field.get('audience').read(oneOf('required', 'optional')) ?? 'required',
  };
}

/** `client_id`, `client_secret` and `client_auth` of a mapping; what it leaves out, it takes from `fallback`. */
export function readCredentials(field: Field, fallback: ClientCredentials | undefined): ClientCredentials {
  const secret = fallback?.clientAuth === 'private_key_jwt' ? undefined : fallback;
  return {
    clientId: field.get('client_id').text() ?? secret?.clientId ?? '',
    clientSecret: field.get('client_secret').text() ?? secret?.clientSecret ?? '',
    clientAuth:
      field.get('client_auth').read(oneOf('client_secret_basic', 'client_secret_post')) ??
      secret?.clientAuth ??
      'client_secret_basic',
  };
}
