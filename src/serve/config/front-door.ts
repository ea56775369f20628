import { hkdfSync, randomBytes } from 'node:crypto';
import type { Address } from '../../core/model/listen.ts';
import { type AuthorizationServer, prefixedScopes } from '../../core/model/authorization-server.ts';
import {
  type AssertionIssuer,
  type ClaimsMapping,
  type ClientGrant,
  type ClientRules,
  FRONT_DOOR,
  type FrontDoor,
  GATEWAY_SECRET_VARIABLE,
  type FrontDoorScope,
  type IdentityProvider,
  type RegisteredClient,
  type RegistrationRules,
  WORKLOAD_PREFIX,
} from '../../ports/front-door.ts';
import { entryOf, isSameAddress, issuerUrl, reject } from '../../core/config/values.ts';
import { readCredentials } from '../../tokens/servers/settings.ts';
import { readAdmin, readRate } from './sections.ts';
import type {
  AuthorizationServerKeys,
  GatewayKeys,
  IdentityProviderKeys,
  RegisteredClientKeys,
} from '../../../schema/validators.js';
import type { Field } from '../../core/config/field.ts';
import type { Files } from '../../core/config/files.ts';
import { loopbackHostPattern } from '../../core/lib/ip-address.ts';
import { knownRedirects } from './quirks/clients.ts';

/** Claims of our tokens that no mapping may set: they say which token it is, and for whom. */
const reservedClaims: ReadonlySet<string> = new Set([
  'sub',
  'aud',
  'iss',
  'scope',
  'client_id',
  'exp',
  // The rest of RFC 9068 §2.2, RFC 7662 §2.2, RFC 7800 and RFC 8693 §4.1.
  'iat',
  'nbf',
  'jti',
  'cnf',
  'act',
  'may_act',
  'active',
  'azp',
  'sid',
  'scp',
  'token_type',
  'username',
  'authorization_details',
]);

type FrontDoorKeys = NonNullable<GatewayKeys['front_door']>;

/**
 * `front_door`, and the files that it names. Problems are reported to the fields, and the result is then not used.
 *
 * @param base The folder of `gateway.yaml`.
 */
export async function readFrontDoor(
  field: Field<FrontDoorKeys>,
  root: Field<GatewayKeys>,
  base: string,
  { env, files }: { readonly env: NodeJS.ProcessEnv; readonly files: Files },
): Promise<{ readonly settings: FrontDoor; readonly files: readonly string[] }> {
  const listed = field.get('workloads');
  const workloads = listed.present
    ? await (await import('./workloads.ts')).openWorkloads(listed, base, files)
    : undefined;
  const issuer = field.get('issuer').read(frontDoorIssuer) ?? '';
  const { listen, backchannel = ownBackchannel(issuer, listen), keys, acrValues } = field.settings();
  if (!field.get('backchannel').present) requireOwnAddress(field.get('listen'), listen, root);
  const providers = readProviders(field.get('identity_providers'), scopePrefixes(root.get('authorization_servers')));
  const scopes = readScopes(field.get('scopes'));
  const tokens = field.get('tokens').settings();
  const gatewaySecret = secretOfGateway(root, env);
  const clients = readClients(field.get('clients'), scopes);
  const limits = field.get('limits');
  const settings: FrontDoor = {
    issuer,
    listen,
    keys,
    acrValues,
    providers,
    clients,
    scopes,
    tokens,
    assertions: readAssertions(field.get('assertions'), { providers, clients, scopes }),
    workloads:
      workloads?.read({ issuer, readClaims, readScopes: (listed) => readScopesOf(listed, scopes) }) ?? new Map(),
    limits: {
      sign_ins: readRate(limits.get('sign_ins')),
      registrations: readRate(limits.get('registrations')),
      requests: readRate(limits.get('requests')),
    },
    gatewaySecret,
    // This place is absent, so that it has the defaults of every server.
    server: serverOf(
      { issuer, backchannel, format: tokens.format, gatewaySecret },
      root.get('authorization_servers').get(FRONT_DOOR),
    ),
  };
  return { settings, files: workloads?.files ?? [] };
}

/** Requires an address of its own. With `backchannel` the front door may be on another machine. */
function requireOwnAddress(field: Field, own: Address, root: Field<GatewayKeys>): void {
  const others = { listen: root.get('listen').value(), admin: readAdmin(root.get('admin'))?.listen };
  for (const [key, other] of Object.entries(others))
    if (isSameAddress(own, other)) field.addProblem(`front_door and ${key} cannot share an address`);
}

/** An issuer without a trailing slash: every URL below it is built by appending a path. */
function frontDoorIssuer(text: string): string {
  const issuer = issuerUrl(text);
  const { origin, pathname } = new URL(issuer);
  const path = pathname === '/' ? '' : pathname;
  if (origin + path !== issuer) {
    reject('is not in the form of https://host/path: no trailing slash, default port, capitals or dot segments');
  }
  return /[^\w\-.~/]|\/\//.test(path) ? reject('has a path that servers read in different ways') : issuer;
}

/** Where the gateway reaches the front door: its own listener, whatever leads clients there. */
export function ownBackchannel(issuer: string, listen: Address): string {
  const path = URL.canParse(issuer) ? new URL(issuer).pathname.replace(/\/$/, '') : '';
  return reachableAt(listen) + path;
}

/** The URL by which a process of the same machine reaches a listener. */
export function reachableAt({ host, port }: Address): string {
  const reachable = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`;
}

function serverOf(
  {
    issuer,
    backchannel,
    format,
    gatewaySecret,
  }: Pick<FrontDoor, 'issuer' | 'gatewaySecret'> & { backchannel: string; format: FrontDoor['tokens']['format'] },
  defaults: Field<AuthorizationServerKeys>,
): AuthorizationServer {
  return {
    name: FRONT_DOOR,
    issuer,
    backchannel,
    jwt: format === 'jwt' ? { algorithms: ['ES256'], types: ['at+jwt'], jwksUri: undefined } : undefined,
    introspection:
      format === 'jwt'
        ? undefined
        : {
            credentials: { clientId: 'gateway', clientAuth: 'client_secret_basic', clientSecret: gatewaySecret },
            prefix: undefined,
            response: { kind: 'json' },
            endpoint: undefined,
            cacheMs: defaults.get('introspection').get('cache').value(),
            audience: 'required',
          },
    clockToleranceMs: defaults.get('clock_tolerance').value(),
    timeoutMs: defaults.get('timeout').value(),
    staleMs: defaults.get('stale').value(),
  };
}

/** The same in all processes and replicas: from `session_key`, or from the environment that `serve` sets. */
function secretOfGateway(root: Field<GatewayKeys>, env: NodeJS.ProcessEnv): string {
  const sessionKey = root.get('session_key').text();
  if (sessionKey === undefined) return env[GATEWAY_SECRET_VARIABLE] ?? randomBytes(32).toString('hex');
  return Buffer.from(hkdfSync('sha256', sessionKey, '', 'sallyport front door v1: gateway', 32)).toString('hex');
}

/** `scope_prefix` of the authorization servers, by issuer: the same server may be a provider too. */
function scopePrefixes(servers: Field<GatewayKeys['authorization_servers']>): ReadonlyMap<unknown, string | undefined> {
  return new Map(
    servers.entries().map(([, server]) => [server.get('issuer').text(), server.get('scope_prefix').text()] as const),
  );
}

function readProviders(
  field: Field<FrontDoorKeys['identity_providers']>,
  prefixes: ReadonlyMap<unknown, string | undefined>,
): ReadonlyMap<string, IdentityProvider> {
  const providers = new Map<string, IdentityProvider>();
  const owners = new Map<string, string>();
  const entries = field.entries();
  for (const [key, provider] of entries) {
    const settings = provider.settings();
    const { issuer } = settings;
    const domains = provider.get('domains');
    if (entries.length > 1 && !domains.present) {
      provider.addProblem('missing key: domains (several providers are defined, and the address decides)', 'key');
    }
    const found = domains.list((text) => ownDomain(text.toLowerCase(), key, owners));
    providers.set(key, {
      name: key,
      issuer,
      backchannel: settings.backchannel ?? issuer,
      credentials: readProviderCredentials(provider),
      scopes: prefixedScopes(withOpenid(settings.scopes), prefixes.get(issuer)),
      domains: found,
      claims: readClaims(provider.get('claims')),
    });
  }
  return providers;
}

/** OpenID Connect Core §3.1.2.1: without `openid` there is no ID token. */
function withOpenid(scopes: readonly string[]): readonly string[] {
  return scopes.includes('openid') ? scopes : ['openid', ...scopes];
}

function ownDomain(found: string, provider: string, owners: Map<string, string>): string {
  const owner = owners.get(found) ?? provider;
  owners.set(found, owner);
  return owner === provider ? found : reject(`is also a domain of ${owner}`);
}

function readProviderCredentials(field: Field<IdentityProviderKeys>): IdentityProvider['credentials'] {
  const clientAuth = field.get('client_auth').value();
  if (clientAuth !== 'none') return readCredentials(field, clientAuth);
  for (const key of ['client_secret', 'client_key', 'client_key_id'] as const) {
    if (field.get(key).present) field.get(key).addProblem('does not apply with client_auth: none', 'key');
  }
  return { clientId: field.get('client_id').text() ?? '', clientAuth };
}

function readClaims(field: Field<IdentityProviderKeys['claims']>): ClaimsMapping {
  const mapping = new Map<string, string>();
  for (const [claim, source] of field.entries()) {
    if (reservedClaims.has(claim)) source.addProblem(`the front door itself sets ${claim}`, 'key');
    mapping.set(claim, source.value() ?? '');
  }
  return mapping;
}

function readScopes(field: Field<FrontDoorKeys['scopes']>): ReadonlyMap<string, FrontDoorScope> {
  return new Map(field.entries().map(([scope, entry]) => [scope, entry.settings()]));
}

function readAssertions(
  field: Field<FrontDoorKeys['assertions']>,
  { providers, clients, scopes }: Pick<FrontDoor, 'providers' | 'clients' | 'scopes'>,
): ReadonlyMap<string, AssertionIssuer> {
  const issuers = new Map<string, AssertionIssuer>();
  const isRegistered = among(clients.registered, 'clients.registered');
  for (const [key, assertion] of field.entries()) {
    const { issuer, backchannel = issuer } = assertion.settings();
    const same = [...issuers.values()].find((other) => issuer !== '' && other.issuer === issuer);
    if (same !== undefined) assertion.get('issuer').addProblem(`is also the issuer of assertions.${same.name}`);
    issuers.set(key, {
      name: key,
      issuer,
      backchannel,
      provider: assertion.get('provider').read(among(providers, 'identity_providers')),
      clients: assertion.get('clients').list((id) => confidential(isRegistered(id), clients)),
      scopes: assertion.get('scopes').list(among(scopes, 'scopes')),
      claims: readClaims(assertion.get('claims')),
    });
  }
  return issuers;
}

/** A client that can authenticate: any program could present the assertions of another. */
function confidential(id: string, { registered }: FrontDoor['clients']): string {
  if (registered.get(id)?.clientAuth !== 'none') return id;
  return reject('is a public client', `set front_door.clients.registered.${id}.client_secret`);
}

/** A parser that takes only the names of a mapping of `front_door`. */
function among(mapping: ReadonlyMap<string, unknown>, name: string): (text: string) => string {
  const names = [...mapping.keys()];
  const has = names.length === 0 ? 'it has no entry' : `it has ${names.join(', ')}`;
  return entryOf(new Map(names.map((each) => [each, each])), `is not in front_door.${name}`, has);
}

type ClientsKeys = NonNullable<NonNullable<GatewayKeys['front_door']>['clients']>;

function readClients(field: Field<ClientsKeys | undefined>, scopes: FrontDoor['scopes']): ClientRules {
  const given = field.get('refresh');
  const isMapping = given.entries().length > 0;
  const refresh = isMapping || given.json() === true;
  const registration = field.get('registration').given();
  return {
    refresh,
    refreshGraceMs: isMapping ? given.get('grace').value() : 0,
    metadataDocuments: field.get('metadata_documents').list(documentPattern),
    documentAddresses: field.get('document_addresses').value(),
    registration: registration && readRegistration(registration),
    registered: new Map(
      field
        .get('registered')
        .entries()
        .map(([id, client]) => [id, readRegistered(id, client, { refresh, scopes })]),
    ),
  };
}

function readRegistration(field: Field<NonNullable<ClientsKeys['registration']>>): RegistrationRules {
  const listed = field.get('redirect_uris').list(redirectPatternOrKnown);
  const { device, initialAccessToken, lifetimeMs } = field.settings();
  if (!device && !field.get('redirect_uris').present) field.addProblem('missing key: redirect_uris', 'key');
  const nameOf = (entry: string): string => (entry.startsWith(KNOWN) ? entry.slice(KNOWN.length) : '');
  return {
    redirectUris: [...new Set(listed.flatMap((entry) => knownRedirects.get(nameOf(entry)) ?? anyPort(entry)))],
    known: listed.map(nameOf).filter((name) => name !== ''),
    device,
    initialAccessToken,
    lifetimeMs,
  };
}

function readRegistered(
  id: string,
  field: Field<RegisteredClientKeys>,
  defaults: { readonly refresh: boolean; readonly scopes: FrontDoor['scopes'] },
): RegisteredClient {
  if (id === 'approvals')
    field.addProblem('is the client identifier of the page of approvals: choose another one', 'key');
  if (id === 'gateway') field.addProblem('is the client identifier of the gateway itself: choose another one', 'key');
  if (id.startsWith(WORKLOAD_PREFIX))
    field.addProblem(
      `begins with ${WORKLOAD_PREFIX}, as the client identifiers of workloads do: choose another one`,
      'key',
    );
  const grants = readGrants(field, defaults.refresh);
  const authentication = readClientAuthentication(field);
  const redirectUris = field.get('redirect_uris');
  const hasCode = grants.has('authorization_code');
  if (hasCode && !redirectUris.present) field.addProblem('missing key: redirect_uris', 'key');
  if (!hasCode && redirectUris.present)
    redirectUris.addProblem('applies only with authorization_code in grants: remove it, or add the grant', 'key');
  return {
    name: field.get('name').text() ?? id,
    grants,
    ...authentication,
    redirectUris: redirectUris.list(registeredRedirect),
    ...readOwnTokens(field, { grants, clientAuth: authentication.clientAuth, scopes: defaults.scopes }),
    mayApprove: field.get('approvals').value(),
  };
}

/** `refresh` and `refresh_token` among `grants` say the same; `clients.refresh` counts where neither is there. */
function readGrants(field: Field<RegisteredClientKeys>, refreshByDefault: boolean): ReadonlySet<ClientGrant> {
  const [listed, refresh] = [field.get('grants'), field.get('refresh')];
  const grants = new Set<ClientGrant>(listed.value());
  if (!listed.present)
    return refresh.present ? withRefresh(grants, refresh.value() === true) : withRefresh(grants, refreshByDefault);
  if (refresh.present && refresh.value() !== grants.has('refresh_token'))
    refresh.addProblem('says another thing than refresh_token in grants: remove it', 'key');
  if (grants.has('refresh_token') && grants.size === 1)
    listed.addProblem('needs another grant beside refresh_token: a refresh token comes with the token of another one');
  return grants;
}

function withRefresh(grants: ReadonlySet<ClientGrant>, refreshes: boolean): ReadonlySet<ClientGrant> {
  return refreshes ? new Set([...grants, 'refresh_token']) : grants;
}

function readClientAuthentication(
  field: Field<RegisteredClientKeys>,
): Pick<RegisteredClient, 'clientAuth' | 'secret' | 'jwksUri'> {
  const [method, secret, jwksUri] = [field.get('client_auth'), field.get('client_secret'), field.get('jwks_uri')];
  const clientAuth = method.value() ?? (secret.present ? 'client_secret_basic' : 'none');
  const usesSecret = clientAuth === 'client_secret_basic' || clientAuth === 'client_secret_post';
  if (usesSecret && !secret.present)
    field.addProblem(`missing key: client_secret (needed with client_auth: ${clientAuth})`, 'key');
  if (!usesSecret && secret.present) secret.addProblem(`does not apply with client_auth: ${clientAuth}`, 'key');
  const usesKeys = clientAuth === 'private_key_jwt';
  if (usesKeys && !jwksUri.present)
    field.addProblem('missing key: jwks_uri (needed with client_auth: private_key_jwt)', 'key');
  if (!usesKeys && jwksUri.present) jwksUri.addProblem('applies only with client_auth: private_key_jwt', 'key');
  return {
    clientAuth,
    // One that cannot be read makes no public client.
    secret: secret.text() ?? (secret.present ? '' : undefined),
    jwksUri: jwksUri.value(),
  };
}

/** What the tokens of `client_credentials` have. */
function readOwnTokens(
  field: Field<RegisteredClientKeys>,
  client: Pick<RegisteredClient, 'grants' | 'clientAuth'> & Pick<FrontDoor, 'scopes'>,
): Pick<RegisteredClient, 'scopes' | 'claims'> {
  const [scopes, claims] = [field.get('scopes'), field.get('claims')];
  if (client.grants.has('client_credentials')) {
    if (client.clientAuth === 'none')
      field.addProblem(
        'client_credentials needs a client that authenticates: set client_secret, or client_auth',
        'key',
      );
    if (!scopes.present) field.addProblem('missing key: scopes (needed with client_credentials in grants)', 'key');
  } else {
    for (const key of [scopes, claims])
      if (key.present) key.addProblem('applies only with client_credentials in grants', 'key');
  }
  return { scopes: readScopesOf(scopes, client.scopes), claims: readConstants(claims) };
}

/** Scopes that a party gets without a sign-in, which `max_age` could be compared with. */
function readScopesOf(field: Field<readonly string[] | undefined>, scopes: FrontDoor['scopes']): readonly string[] {
  const isKnown = among(scopes, 'scopes');
  return field.list((text) => {
    const name = isKnown(text);
    return scopes.get(name)?.maxAgeMs === undefined ? name : reject('has max_age, and no person signs in here');
  });
}

function readConstants(field: Field<RegisteredClientKeys['claims']>): Readonly<Record<string, unknown>> {
  const constants = field.entries().map(([claim, value]) => {
    if (reservedClaims.has(claim)) value.addProblem(`the front door itself sets ${claim}`, 'key');
    return [claim, value.json()] as const;
  });
  // Not by assignment: a claim may be named `__proto__`.
  return Object.fromEntries(constants);
}

/** An https URL in which `*` stands for a part of a segment, and a final `**` for any rest of the path. */
function documentPattern(text: string): string {
  if (!text.startsWith('https://')) reject('is not an https URL');
  return urlPattern(text);
}

/** Begins the name of a client that is known, in place of a pattern. */
const KNOWN = 'known:';

function redirectPatternOrKnown(text: string): string {
  if (!text.startsWith(KNOWN)) return redirectPattern(text);
  const names = [...knownRedirects.keys()].map((name) => KNOWN + name);
  return entryOf(
    new Map(names.map((each) => [each, each])),
    'is not a known client',
    `they are ${names.join(', ')}`,
  )(text);
}

const loopbackPort = new RegExp(`^(http://${loopbackHostPattern})(?::[0-9]+|:\\*)?(?=/|$)`);

/** RFC 8252 §7.3: the port of a loopback address is the system's choice, made anew at each sign-in. */
function anyPort(pattern: string): string {
  return pattern.replace(loopbackPort, '$1:*');
}

const loopbackRedirect = new RegExp(`^http://${loopbackHostPattern}(?::|/|$)`);

/**
 * A pattern of redirect URIs: an https URL, an http URL on loopback, or a private scheme such as
 * `com.example.app:/callback`.
 */
function redirectPattern(text: string): string {
  if (text.startsWith('http:') && !loopbackRedirect.test(text)) {
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
