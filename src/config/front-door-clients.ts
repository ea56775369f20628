import type { ClientRules, RegisteredClient, RegistrationRules } from '../model/front-door.ts';
import { network } from './addresses.ts';
import type { GatewayKeys, RegisteredClientKeys } from '../../schema/validators.js';
import type { Field } from './field.ts';
import { reject } from './values.ts';

type ClientsKeys = NonNullable<NonNullable<GatewayKeys['front_door']>['clients']>;

/** `front_door.clients`. Problems are reported to the fields. */
export function readClients(field: Field<ClientsKeys | undefined>): ClientRules {
  const refresh = field.get('refresh').isTrue();
  const registration = field.get('registration');
  return {
    refresh,
    metadataDocuments: field.get('metadata_documents').list(documentPattern),
    documentAddresses: field.get('document_addresses').list(network),
    registration: registration.present ? readRegistration(registration) : undefined,
    registered: new Map(
      field
        .get('registered')
        .entries()
        .map(([id, client]) => [id, readRegistered(id, client, refresh)]),
    ),
  };
}

function readRegistration(field: Field<ClientsKeys['registration']>): RegistrationRules {
  return {
    redirectUris: field.get('redirect_uris').list(redirectPattern),
    initialAccessToken: field.get('initial_access_token').text(),
    lifetimeMs: field.get('lifetime').duration(),
  };
}

function readRegistered(id: string, field: Field<RegisteredClientKeys>, refresh: boolean): RegisteredClient {
  if (id === 'gateway') field.addProblem('is the client identifier of the gateway itself: choose another one', 'key');
  const own = field.get('refresh');
  return {
    name: field.get('name').text() ?? id,
    secret: field.get('client_secret').text(),
    redirectUris: field.get('redirect_uris').list(registeredRedirect),
    refresh: own.present ? own.isTrue() : refresh,
  };
}

/** An https URL in which `*` stands for a part of a segment, and a final `**` for any rest of the path. */
function documentPattern(text: string): string {
  if (!text.startsWith('https://')) reject('is not an https URL');
  return urlPattern(text);
}

/**
 * A pattern of redirect URIs: an https URL, an http URL on loopback, or a private scheme such as
 * `com.example.app:/callback`.
 */
function redirectPattern(text: string): string {
  if (text.startsWith('http:') && !/^http:\/\/(?:127\.0\.0\.1|\[::1\]|localhost)(?::|\/|$)/.test(text)) {
    reject('is http and not on loopback: codes would cross the network in plain text');
  }
  return urlPattern(text);
}

/** A redirect URI of one client: only the port of a loopback address varies, RFC 8252 §7.3. */
function registeredRedirect(text: string): string {
  redirectPattern(text);
  return text.replace(/^(http:\/\/[^/]*):\*/, '$1').includes('*')
    ? reject('has a * other than the port of a loopback address')
    : text;
}

function urlPattern(text: string): string {
  // A `*` in the scheme would also stand for schemes that carry codes to an attacker.
  if (!/^[a-z][a-z0-9+.-]*:/.test(text)) reject('does not begin with a scheme, such as https:');
  const [, authority = '', path = ''] = /^[a-z][a-z0-9+.-]*:\/\/([^/]*)(.*)$/.exec(text) ?? [];
  // In a host, `*` would also stand for hosts of other people.
  if (authority.replace(/:\*$/, '').includes('*')) reject('has a * in its host: name each host');
  if (/[?#\\\s]|\/\.{1,2}(?:\/|$)/.test(text)) reject('has a query, a fragment, a dot segment or a space');
  if (/\*\*(?!$)|\*\*\*/.test(path)) reject('has a ** that is not at its end');
  return text;
}
