import {
  type AuthorizationServer,
  type Introspection,
  issuersOf,
  type JwtValidation,
} from '../../core/model/authorization-server.ts';
import { FRONT_DOOR } from '../../ports/front-door.ts';
import type { AuthorizationServerKeys, GatewayKeys } from '../../../schema/validators.js';
import { readCredentials } from '../../tokens/servers/settings.ts';
import type { Field } from '../../core/config/field.ts';
import { FILE, type KeyFiles } from './key-files.ts';
import { quoted } from '../../core/lib/wording.ts';
import { endpointUrl, reject } from '../../core/config/values.ts';

/**
 * `authorization_servers` by name, and the front door, if there is one. Problems are reported to the fields, and the
 * result is then not used.
 */
export function readAuthorizationServers(
  field: Field<GatewayKeys['authorization_servers']>,
  frontDoor: AuthorizationServer | undefined,
  keyFiles: Pick<KeyFiles, 'keySetIn'>,
): ReadonlyMap<string, AuthorizationServer> {
  const servers = new Map<string, AuthorizationServer>();
  if (frontDoor !== undefined) servers.set(frontDoor.name, frontDoor);
  for (const [name, server] of field.entries()) {
    const settings = server.settings();
    const { issuer } = settings;
    const [jwt, introspection] = [server.get('jwt').given(), server.get('introspection').given()];
    if (jwt === undefined && introspection === undefined) server.addProblem('needs jwt, introspection or both', 'key');
    const validation = jwt && readJwt(jwt, keyFiles);
    // A token carries only its issuer: the gateway could not tell which of two settings applies.
    const own = [server.get('issuer'), ...(jwt?.get('issuers').items() ?? [])];
    for (const [index, each] of [issuer, ...(validation?.issuers ?? [])].entries()) {
      const other = [...servers.values()].find((known) => each !== '' && issuersOf(known).includes(each));
      if (other !== undefined) own[index]?.addProblem(`is also the issuer of ${placeOf(other)}`);
      if (index > 0 && each === issuer) own[index]?.addProblem('is the issuer itself: list only further ones');
    }
    if (name === FRONT_DOOR) server.addProblem('is the name of the front door: choose another one', 'key');
    servers.set(name, {
      ...settings,
      name,
      backchannel: settings.backchannel ?? issuer,
      jwt: validation,
      introspection: introspection && readIntrospection(introspection, validation),
    });
  }
  return servers;
}

function placeOf({ name }: AuthorizationServer): string {
  return name === FRONT_DOOR ? FRONT_DOOR : `authorization_servers.${name}`;
}

type ServerKeys<Key extends 'jwt' | 'introspection'> = Field<NonNullable<AuthorizationServerKeys[Key]>>;

function readJwt(field: ServerKeys<'jwt'>, keyFiles: Pick<KeyFiles, 'keySetIn'>): JwtValidation {
  const place = field.get('jwks').read((text) => {
    if (text.startsWith(FILE)) return keyFiles.keySetIn(text.slice(FILE.length));
    if (!text.includes(':')) reject('is no URL', `write ${quoted(FILE + text)} for a file`);
    return endpointUrl(text);
  });
  return {
    ...field.settings(),
    types: field.get('types').given()?.value(),
    jwksUri: typeof place === 'string' ? place : undefined,
    keySet: typeof place === 'object' ? place : undefined,
  };
}

function readIntrospection(field: ServerKeys<'introspection'>, jwt: JwtValidation | undefined): Introspection {
  return {
    ...field.settings(),
    credentials: readCredentials(field, field.get('client_auth').value()),
    response: readResponse(field, jwt),
  };
}

/** The form of introspection answers. By default the algorithms of signed answers are those of the access tokens. */
function readResponse(field: ServerKeys<'introspection'>, jwt: JwtValidation | undefined): Introspection['response'] {
  const response = field.get('response');
  const own = field.get('algorithms');
  const kind = response.value();
  if (kind === 'json') {
    if (own.present) own.addProblem('applies only with response: jwt', 'key');
    return { kind };
  }
  if (!own.present && jwt === undefined)
    response.addProblem('jwt needs the key algorithms beside it: this server has no jwt to take them from');
  return { kind, algorithms: own.given()?.value() ?? jwt?.algorithms ?? [] };
}
