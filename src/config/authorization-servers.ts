import type { AuthorizationServer, Introspection, JwtValidation } from '../model/authorization-server.ts';
import { readCredentials } from './client-credentials.ts';
import { didYouMean } from './did-you-mean.ts';
import type { Field } from './field.ts';
import { endpointUrl, plainUrl } from './urls.ts';
import { algorithm, duration, oneOf, refuse, tokenPrefix, tokenType } from './values.ts';

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
    const validation = jwt.present ? readJwt(jwt) : undefined;
    servers.set(name, {
      name,
      issuer,
      backchannel: server.get('backchannel').read(plainUrl) ?? issuer,
      jwt: validation,
      introspection: introspection.present ? readIntrospection(introspection, validation) : undefined,
      clockToleranceMs: server.get('clock_tolerance').read(duration('0s', '5m')) ?? 5000,
      timeoutMs: server.get('timeout').read(duration('1ms')) ?? 5000,
      staleMs: server.get('stale').read(duration('0s', '168h')) ?? 24 * 3_600_000,
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

function readIntrospection(field: Field, jwt: JwtValidation | undefined): Introspection {
  return {
    credentials: readCredentials(field, undefined),
    prefix: field.get('prefix').read(tokenPrefix),
    response: readResponse(field, jwt),
    endpoint: field.get('endpoint').read(endpointUrl),
    cacheMs: field.get('cache').read(duration('0s')) ?? 30_000,
    audience: field.get('audience').read(oneOf('required', 'optional')) ?? 'required',
  };
}

/** Signed answers are signed as the server's access tokens are, unless the configuration says otherwise. */
function readResponse(field: Field, jwt: JwtValidation | undefined): Introspection['response'] {
  const response = field.get('response');
  const own = field.get('algorithms');
  const kind = response.read(oneOf('json', 'jwt')) ?? 'json';
  if (kind === 'json') {
    if (own.present) own.refuse('goes with response: jwt only', 'key');
    return { kind };
  }
  if (!own.present && jwt === undefined)
    response.refuse('jwt needs algorithms: beside it, where the server has no jwt');
  return { kind, algorithms: own.present ? own.list(algorithm) : (jwt?.algorithms ?? []) };
}
