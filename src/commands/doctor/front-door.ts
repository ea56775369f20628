import { access, constants } from 'node:fs/promises';
import { dirname } from 'node:path';
import { randomBytes } from 'node:crypto';
import { createDocumentFetch } from '../../front-door/document-fetch.ts';
import { createProviderClient, type ProviderClient } from '../../front-door/identity-provider.ts';
import { createWorkloadKeys, discoverKeys } from '../../front-door/issuer-discovery.ts';
import { KeysFault, readSecret } from '../../front-door/keys.ts';
import { boundedAnswer } from '../../core/lib/http/bodies.ts';
import { ownMember } from '../../core/lib/json/own-member.ts';
import { parsedJson } from '../../core/lib/json/parsed.ts';
import { reasonOf } from '../../core/lib/wording.ts';
import { approvalSettings } from '../../ports/approval-settings.ts';
import type { Config } from '../../ports/config.ts';
import type {
  AssertionIssuer,
  FrontDoor,
  IdentityProvider,
  RegisteredClient,
  Workload,
} from '../../ports/front-door.ts';
import { describeValue } from '../../core/lib/json/describe-value.ts';
import { remedyForSecret } from '../../tokens/servers/secret-remedy.ts';
import { fetchText } from './finding.ts';
import { remedyForReason } from '../../capabilities/finding.ts';
import { type Finding, findingsOn } from '../../capabilities/finding.ts';

/**
 * Examines the front door: what clients read of it, its keys, the providers behind it, the way to documents.
 *
 * @param isStarted False: `serve` is yet to start it, so that clients can read nothing.
 */
export async function examineFrontDoor(config: Config, isStarted = true): Promise<readonly Finding[]> {
  const { frontDoor } = config;
  if (frontDoor === undefined) return [];
  const found = [
    isStarted ? examineMetadata(frontDoor.issuer) : Promise.resolve([notStarted(frontDoor)]),
    examineKeys(frontDoor, config),
    ...[...frontDoor.providers.values()].map((provider) => examineProvider(provider, frontDoor, config)),
    ...[...frontDoor.assertions.values()].map(examineAssertions),
    ...[...frontDoor.workloads.values()].map(examineWorkload),
    ...[...frontDoor.clients.registered].map(examineClientKeys),
    examineDocuments(frontDoor),
  ];
  return (await Promise.all(found)).flat();
}

function notStarted({ server }: FrontDoor): Finding {
  const text = `nothing listens at ${server.backchannel} (ECONNREFUSED)`;
  const remedy = 'start the gateway (`sallyport serve` starts the front door too), then run doctor again';
  return findingsOn('front_door').warn(text, remedy);
}

/** The two documents that clients look for. `authorization_servers.front_door` has what they say. */
async function examineMetadata(issuer: string): Promise<readonly Finding[]> {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, '');
  const urls = ['oauth-authorization-server', 'openid-configuration'].map(
    (name) => `${origin}/.well-known/${name}${path}`,
  );
  return Promise.all(urls.map((url) => examineDocument(url, issuer)));
}

async function examineDocument(url: string, issuer: string): Promise<Finding> {
  const on = findingsOn('front_door.issuer');
  const remedy = 'let the proxy before the front door pass this path on, or make issuer the URL that clients use';
  try {
    const { status, text } = await fetchText(url);
    if (status !== 200) return on.fail(`${url} answered ${status}, not the metadata`, remedy);
    const found = ownMember(parsedJson(text), 'issuer');
    if (found === issuer) return on.ok(`${url} has the metadata`);
    return on.fail(`${url} names the issuer ${describeValue(found)}`, remedy);
  } catch (error) {
    const text = `${url} cannot be reached (${reasonOf(error)})`;
    if (reasonOf(error) === 'ECONNREFUSED') return on.warn(text, 'start the front door, then run doctor again');
    return on.fail(text, 'check the name, the certificate and the firewall of the front door');
  }
}

/** Creates no file: only the front door does. */
async function examineKeys({ keys: file }: FrontDoor, { sessionKey }: Config): Promise<readonly Finding[]> {
  const on = findingsOn('front_door.keys');
  if (file === undefined) {
    if (sessionKey !== undefined) return [on.ok('its keys derive from session_key')];
    const text = 'its keys live as long as its process: after a restart nothing that it signed is valid';
    return [on.warn(text, 'set session_key, or keys')];
  }
  try {
    await access(file);
  } catch {
    return [await examineFolder(file)];
  }
  try {
    await readSecret(file, undefined);
    return [on.ok(`${file} has its secret, and is closed to other users`)];
  } catch (error) {
    if (!(error instanceof KeysFault)) throw error;
    return [on.fail(error.message, 'repair the file, or name another one')];
  }
}

async function examineFolder(file: string): Promise<Finding> {
  const on = findingsOn('front_door.keys');
  try {
    await access(dirname(file), constants.W_OK);
    return on.ok(`${file} does not exist yet: the front door creates it`);
  } catch (error) {
    const text = `${file} does not exist, and cannot be created (${reasonOf(error)})`;
    return on.fail(text, 'create its folder, writable for the user of the front door');
  }
}

const undiscovered = 'check issuer, and that it is reachable from here (else set backchannel)';

async function examineProvider(
  provider: IdentityProvider,
  { issuer }: FrontDoor,
  config: Config,
): Promise<readonly Finding[]> {
  const on = findingsOn(`front_door.identity_providers.${provider.name}`);
  const redirectUri = `${issuer}/callback/${provider.name}`;
  const client = createProviderClient(provider, redirectUri, Date.now);
  try {
    const tried = await client.tryCredentials();
    const names = approvalSettings.of(config) === undefined ? [] : examineNames(provider, tried);
    return [await findingOnCredentials(provider, tried), await examineRedirectUri(client), ...names];
  } catch (error) {
    const reason = reasonOf(error);
    const text = `${provider.issuer} cannot be discovered (${reason})`;
    const callback = on.ok(`register the redirect URI ${redirectUri} there`);
    return [on.fail(text, remedyForReason(reason, undiscovered)), callback];
  }
}

type Tried = Awaited<ReturnType<ProviderClient['tryCredentials']>>;

/** Approvers see callers by a verified address or a name, and else by the hash that is their `sub`. */
function examineNames({ name }: IdentityProvider, { claims }: Tried): readonly Finding[] {
  if (claims === undefined || ['email', 'name', 'preferred_username'].some((each) => claims.includes(each))) return [];
  const text = 'claims_supported has no email, name or preferred_username: approvers see callers as hashes';
  const remedy = 'let it send one of them, in ID tokens or at its userinfo endpoint';
  return [findingsOn(`front_door.identity_providers.${name}`).warn(text, remedy)];
}

async function findingOnCredentials(
  { name, credentials }: IdentityProvider,
  { error, tokenEndpoint, form }: Tried,
): Promise<Finding> {
  const on = findingsOn(`front_door.identity_providers.${name}`);
  const { clientId, clientAuth } = credentials;
  if (error === 'invalid_grant') return on.ok(`it is discovered, and accepts the credentials of ${clientId}`);
  const text = `it answered ${error} to a made-up code for ${clientId}`;
  if (!error.includes('client')) return on.warn(text, 'sign in once, and read its answer in the log');
  if (error === 'invalid_client' && (clientAuth === 'client_secret_basic' || clientAuth === 'client_secret_post')) {
    const isAccepted = (_status: number, answer: unknown): boolean => answer === 'invalid_grant';
    return on.fail(text, await remedyForSecret(credentials, { endpoint: tokenEndpoint, form, isAccepted }));
  }
  return on.fail(text, 'check client_id, client_auth and the secret or key: without them people cannot sign in');
}

async function examineAssertions(settings: AssertionIssuer): Promise<readonly Finding[]> {
  const on = findingsOn(`front_door.assertions.${settings.name}`);
  try {
    await discoverKeys(settings);
    return [on.ok(`the metadata of ${settings.issuer} name its keys`)];
  } catch (error) {
    const reason = reasonOf(error);
    return [on.fail(`${settings.issuer} cannot be discovered (${reason})`, remedyForReason(reason, undiscovered))];
  }
}

/** The subjects that known platforms write, by what their patterns begin with. */
const subjectForms: readonly (readonly [issuer: RegExp, platform: string, form: RegExp, example: string])[] = [
  [
    // An enterprise may have an issuer of its own, and a repository may choose the claims that `sub` consists of.
    /^https:\/\/token\.actions\.githubusercontent\.com(?:\/|$)/,
    'GitHub',
    /^(?!system:)[a-z_]+:/,
    'repo:OWNER/NAME:ref:refs/heads/main',
  ],
  [/^https:\/\/gitlab\./, 'GitLab', /^project_path:/, 'project_path:GROUP/NAME:ref_type:branch:ref:main'],
  [
    /kubernetes|\/\/oidc\.eks\.|\/\/container\.googleapis\./,
    'Kubernetes',
    /^system:serviceaccount:[^:]+:[^:]+$/,
    'system:serviceaccount:NAMESPACE:NAME',
  ],
];

/** Asks a platform for its keys, and compares the subjects with what it writes. */
async function examineWorkload(settings: Workload): Promise<readonly Finding[]> {
  const { name, issuer, jwks } = settings;
  const on = findingsOn(`front_door.workloads.${name}`);
  const [, platform, form, example] = subjectForms.find(([pattern]) => pattern.test(issuer)) ?? [];
  const odd = settings.subjects.filter((pattern) => form?.test(pattern) === false);
  const subjects = odd.map((pattern) =>
    on.warn(`${JSON.stringify(pattern)} is no subject of ${platform}`, `write it as ${platform} does: ${example}`),
  );
  const where = typeof jwks === 'string' ? jwks : issuer;
  try {
    const keys = await createWorkloadKeys(settings, Date.now)();
    if ('reload' in keys) await keys.reload();
    const count = keys.jwks()?.keys.length ?? 0;
    if (count > 0) return [on.ok(`${where} has ${count} ${count === 1 ? 'key' : 'keys'}`), ...subjects];
    return [on.fail(`${where} has no key`, 'check jwks: no token of this platform counts'), ...subjects];
  } catch (error) {
    const reason = reasonOf(error);
    const remedy = remedyForReason(reason, 'check issuer and jwks, and ca and token where it wants them');
    return [on.fail(`${where} cannot be asked for its keys (${reason})`, remedy), ...subjects];
  }
}

const MAX_KEY_SET_BYTES = 256 * 1024;

/** Asks for the keys of a client as the front door does. */
async function examineClientKeys([id, { jwksUri }]: readonly [string, RegisteredClient]): Promise<readonly Finding[]> {
  if (jwksUri === undefined) return [];
  const on = findingsOn(`front_door.clients.registered.${id}`);
  const remedy = 'check jwks_uri, and that it is reachable from here: without its keys the client gets no token';
  try {
    const trusted = new Set([new URL(jwksUri).href]);
    const answer = await createDocumentFetch({ allowed: [], trusted, clock: Date.now })(jwksUri);
    const body = await boundedAnswer(answer, MAX_KEY_SET_BYTES).then(async (bounded) => bounded.text());
    const keys = answer.status === 200 ? ownMember(parsedJson(body), 'keys') : undefined;
    if (Array.isArray(keys) && keys.length > 0) return [on.ok(`${jwksUri} has its keys`)];
    return [on.fail(`${jwksUri} answered ${answer.status}, and no key set`, remedy)];
  } catch (error) {
    return [on.fail(`${jwksUri} cannot be reached (${reasonOf(error)})`, remedy)];
  }
}

/** Connects to each host of `metadata_documents` as the front door does: any answer shows the way. */
async function examineDocuments({ clients }: FrontDoor): Promise<readonly Finding[]> {
  const on = findingsOn('front_door.clients.metadata_documents');
  const fetchDocument = createDocumentFetch({ allowed: clients.documentAddresses, clock: Date.now });
  const origins = new Set(
    clients.metadataDocuments.map((pattern) => /^https:\/\/[^/*]+/.exec(pattern)?.[0] ?? pattern),
  );
  return Promise.all(
    [...origins].map(async (origin) => {
      try {
        await fetchDocument(`${origin}/`);
        return on.ok(`documents of ${origin} can be fetched`);
      } catch (error) {
        const why = error instanceof Error ? error.message : 'no answer';
        const text = `documents of ${origin} cannot be fetched (${why})`;
        return on.fail(text, 'allow https connections to it, or add its network to document_addresses');
      }
    }),
  );
}

const MAX_REDIRECTS = 5;

/** OpenID Connect Core §3.1.2.6: the errors of a request without a session, as from here. */
const signInErrors = new Set([
  'login_required',
  'interaction_required',
  'consent_required',
  'account_selection_required',
]);

/**
 * Examines whether a provider knows the redirect URI, without signing in. To `prompt=none` a provider shows no page
 * (OpenID Connect Core §3.1.2.1): it redirects to a registered URI, and never to another one (RFC 6749 §4.1.2.1).
 */
async function examineRedirectUri(client: ProviderClient): Promise<Finding> {
  const { redirectUri } = client;
  const on = findingsOn(`front_door.identity_providers.${client.settings.name}`);
  try {
    const { status, callback } = await silentAnswer(client);
    if (callback !== undefined) {
      const error = callback.searchParams.get('error') ?? 'login_required';
      if (signInErrors.has(error)) return on.ok(`the redirect URI ${redirectUri} is registered there`);
      const text = `it answers a sign-in with the error ${describeValue(error)}`;
      return on.fail(text, 'check scopes of the provider, and what its client may do there');
    }
    if (status >= 400 && status < 500) {
      const text = `it refuses the redirect URI ${redirectUri} (${status})`;
      return on.fail(text, 'register exactly this redirect URI for the client there');
    }
  } catch {
    // Its authorization endpoint is for browsers, and may be out of reach from here.
  }
  return on.ok(`register the redirect URI ${redirectUri} there (whether it is cannot be seen without a sign-in)`);
}

async function silentAnswer(
  client: ProviderClient,
): Promise<{ readonly status: number; readonly callback: URL | undefined }> {
  const own = new URL(client.redirectUri);
  const random = (): string => randomBytes(32).toString('base64url');
  const secrets = { state: random(), nonce: random(), codeVerifier: random() };
  const checks = { ...secrets, maxAgeSeconds: undefined, mustBeNew: false, beganAt: Date.now() };
  let url = await client.begin(checks, undefined);
  url.searchParams.set('prompt', 'none');
  for (let redirects = 0; ; redirects += 1) {
    const { status, headers } = await fetchText(url.href);
    const location = headers.get('location');
    if (location === null || redirects === MAX_REDIRECTS) return { status, callback: undefined };
    url = new URL(location, url);
    if (url.origin === own.origin && url.pathname === own.pathname) return { status, callback: url };
  }
}
