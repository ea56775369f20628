import { randomBytes } from 'node:crypto';
import { type ClientMetadata, errors, type KoaContextWithOIDC } from 'oidc-provider';
import { isObject } from '../core/lib/json/own-member.ts';
import { type FrontDoor, WORKLOAD_PREFIX } from '../ports/front-door.ts';
import { loopbackHosts } from '../core/lib/ip-address.ts';
import type { ScopeRules } from './scope-rules.ts';
import { anyPattern } from './url-pattern.ts';

/** RFC 7523 §2.1: the grant of identity assertions. */
export const jwtBearerGrant = 'urn:ietf:params:oauth:grant-type:jwt-bearer';

/** RFC 8628 §3.4. */
export const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code';

/** The gateway, which only introspects. */
export const GATEWAY_CLIENT = 'gateway';
/** The client by which people sign in for the page of approvals, and whose tokens decide. It never gets a code. */
export const APPROVAL_CLIENT = 'approvals';

/** Whether any client may use the device grant. */
export function hasDevices({ clients }: FrontDoor): boolean {
  return (
    clients.registration?.device === true ||
    [...clients.registered.values()].some(({ grants }) => grants.has('device_code'))
  );
}

/** Whether a client identifier is that of a workload. */
export function isWorkload(clientId: string): boolean {
  return clientId.startsWith(WORKLOAD_PREFIX);
}

/** Members of a registration that neither OAuth nor OpenID Connect defines, in the answer's order, R-186. */
export const policyMembers = [
  'token_endpoint_auth_methods',
  'access_token_ttl',
  'require_proof_key',
  'requires_consent',
] as const;

/** The authentication methods of a client that registers itself; with a metadata document, it has no secret. */
const registrationMethods = ['client_secret_basic', 'client_secret_post', 'none'] as const;
const documentMethods = ['none', 'private_key_jwt'] as const;

/** The form in which oidc-provider takes a policy on clients. */
export interface ClientPolicy {
  readonly properties: readonly string[];
  readonly validator: (
    ctx: KoaContextWithOIDC | undefined,
    key: string,
    value: unknown,
    metadata: ClientMetadata,
  ) => void;
}

/** Whether a client's identifier is the URL of its metadata. */
export function isDocumentId(clientId: string): boolean {
  return clientId.startsWith('https://');
}

/**
 * Creates the policy that sets the settings of every client that the operator did not register (RFC 7591 §3.2.1). It
 * takes name, redirect URIs and keys from the client, and replaces everything else. It applies again whenever a client
 * is read, so that an edit of the configuration is in force for old registrations too.
 */
export function createClientPolicy({ clients, tokens }: FrontDoor, scopes: ScopeRules): ClientPolicy {
  const mayRegister = anyPattern(clients.registration?.redirectUris ?? []);
  return {
    properties: policyMembers,
    validator(ctx, key, _value, metadata) {
      // oidc-provider calls this once for each property.
      if (key !== policyMembers[0] || isOperators(metadata.client_id)) return;
      requireTypes(metadata);
      const isDocument = isDocumentId(metadata.client_id);
      if (!isDeviceAlone(metadata)) requireRedirects(metadata.redirect_uris, isDocument ? isSafeRedirect : mayRegister);
      const isNew = ctx?.oidc.route === 'registration';
      const settings = { ...dictated(metadata, isDocument), ...secretOf(metadata, isNew) };
      for (const name of Object.keys(metadata)) delete metadata[name];
      Object.assign(metadata, settings);
    },
  };

  function asksForDevice({ grant_types: grants }: ClientMetadata): boolean {
    return clients.registration?.device === true && grants?.includes(deviceGrant) === true;
  }

  /** A client of devices that no person comes back to. */
  function isDeviceAlone(metadata: ClientMetadata): boolean {
    return asksForDevice(metadata) && (metadata.redirect_uris ?? []).length === 0;
  }

  function isOperators(clientId: string): boolean {
    return (
      clientId === GATEWAY_CLIENT ||
      clientId === APPROVAL_CLIENT ||
      isWorkload(clientId) ||
      clients.registered.has(clientId)
    );
  }

  function dictated(asked: ClientMetadata, isDocument: boolean): ClientMetadata {
    const methods = isDocument ? documentMethods : registrationMethods;
    const method = asked.token_endpoint_auth_method ?? methods[0];
    if (!methods.some((each) => each === method)) {
      throw new errors.InvalidClientMetadata(`token_endpoint_auth_method must be one of ${methods.join(', ')}`);
    }
    if (isDocument) requireOwnKeys(asked);
    const refreshes = clients.refresh && asked.grant_types?.includes('refresh_token') === true;
    const hasCode = !isDeviceAlone(asked);
    return {
      client_id: asked.client_id,
      ...(typeof asked.client_name === 'string' && { client_name: shownName(asked.client_name) }),
      ...(asked.client_id_issued_at !== undefined && { client_id_issued_at: asked.client_id_issued_at }),
      ...(isDocument && asked.jwks !== undefined && { jwks: asked.jwks }),
      ...(isDocument && asked.jwks_uri !== undefined && { jwks_uri: asked.jwks_uri }),
      application_type: applicationType(asked.redirect_uris ?? []),
      redirect_uris: asked.redirect_uris ?? [],
      post_logout_redirect_uris: [],
      grant_types: [
        ...(hasCode ? ['authorization_code'] : []),
        ...(refreshes ? ['refresh_token'] : []),
        ...(asksForDevice(asked) ? [deviceGrant] : []),
      ],
      response_types: hasCode ? ['code'] : [],
      // Whatever it registered: official clients register with the scope of their first challenge, and step up later.
      scope: `openid ${scopes.all}`,
      subject_type: 'public',
      token_endpoint_auth_method: method,
      token_endpoint_auth_methods: [method],
      access_token_ttl: Math.floor(tokens.lifetimeMs / 1000),
      require_proof_key: true,
      requires_consent: true,
    };
  }
}

/** The members of a registration whose values are texts, and those whose values are lists of texts, RFC 7591 §2. */
const texts = [
  'client_name client_uri logo_uri tos_uri policy_uri jwks_uri scope',
  'token_endpoint_auth_method application_type software_id software_version software_statement',
].flatMap((names) => names.split(' '));
const lists = ['redirect_uris', 'grant_types', 'response_types', 'contacts'];

/** @throws {InvalidClientMetadata} for a member of another type. A null is no value. */
function requireTypes(metadata: Readonly<Record<string, unknown>>): void {
  const require = (names: readonly string[], type: string, isOfType: (value: unknown) => boolean): void => {
    const wrong = names.find((name) => (metadata[name] ?? undefined) !== undefined && !isOfType(metadata[name]));
    if (wrong !== undefined) throw new errors.InvalidClientMetadata(`${wrong} must be ${type}`);
  };
  const isText = (value: unknown): boolean => typeof value === 'string';
  require(texts, 'a string', isText);
  require(lists, 'a list of strings', (value) => Array.isArray(value) && value.every(isText));
  require(['jwks'], 'an object', isObject);
}

/** A name for pages and logs, without invisible characters, which could reorder the text around it. */
function shownName(name: string): string {
  return name.replaceAll(/\p{C}|\p{Zl}|\p{Zp}/gu, '').slice(0, 200);
}

/** The secret of a client: a new one for a new registration, never one that the client chose. */
function secretOf(asked: ClientMetadata, isNew: boolean): Partial<ClientMetadata> {
  const method = asked.token_endpoint_auth_method;
  if (isDocumentId(asked.client_id) || method === 'none') return {};
  return {
    client_secret: isNew ? randomBytes(32).toString('base64url') : String(asked.client_secret),
    client_secret_expires_at: 0,
  };
}

function requireRedirects(redirectUris: unknown, isAllowed: (uri: string) => boolean): void {
  const all: readonly unknown[] = Array.isArray(redirectUris) ? redirectUris : [];
  const refused = all.find((uri) => typeof uri !== 'string' || !isAllowed(uri));
  if (all.length > 0 && all.length <= 20 && refused === undefined) return;
  const why =
    refused === undefined ? 'redirect_uris must have 1 to 20 entries' : `${shownUri(refused)} is not allowed here`;
  throw new errors.CustomOIDCProviderError('invalid_redirect_uri', why);
}

/** The keys of a document are fetched as it is, from the origin that the operator lists: no document names another. */
function requireOwnKeys({ client_id: id, jwks_uri: uri }: ClientMetadata): void {
  if (uri === undefined || URL.parse(uri)?.origin === new URL(id).origin) return;
  throw new errors.InvalidClientMetadata('jwks_uri must have the origin of the metadata document');
}

/** A redirect URI in a description of an error, whose characters RFC 6749 §5.2 bounds. */
function shownUri(uri: unknown): string {
  const shown = String(uri)
    .slice(0, 200)
    .replaceAll(/[^\x20\x21\x23-\x5B\x5D-\x7E]/g, '?');
  return shown === '' ? 'an empty redirect URI' : `redirect URI ${shown}`;
}

/** For documents, whose origin the operator chose: codes go over TLS, or stay on the machine. */
const isSafeRedirect = anyPattern(['https://**', ...loopbackHosts.map((host) => `http://${host}:*/**`)]);

/** `native`: oidc-provider ignores the port of loopback redirects, RFC 8252 §7.3, and takes private schemes. */
export function applicationType(redirectUris: readonly string[]): 'native' | 'web' {
  return redirectUris.every((uri) => uri.startsWith('https:')) ? 'web' : 'native';
}
