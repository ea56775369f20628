import { randomBytes } from 'node:crypto';
import { createIntrospector } from '../../tokens/introspection.ts';
import { KeySource, publishedKeys } from '../../tokens/keys.ts';
import { OtherIssuer } from '../../tokens/servers/discovery.ts';
import { createServerClient } from '../../tokens/servers/client.ts';
import { keyAlgorithms, type PublicKey } from '../../tokens/servers/key-algorithms.ts';
import { GATEWAY_SECRET_VARIABLE } from '../../ports/front-door.ts';
import {
  type AuthorizationServer,
  type ClientCredentials,
  prefixedScopes,
} from '../../core/model/authorization-server.ts';
import type { AuthorizationServerClient } from '../../ports/authorization-server-client.ts';
import { ownMember } from '../../core/lib/json/own-member.ts';
import type { Config } from '../../ports/config.ts';
import { describeValue } from '../../core/lib/json/describe-value.ts';
import { Denial } from '../../core/model/denial.ts';
import { providerOf } from '../../serve/config/quirks/providers.ts';
import { requestedScopes, type Route } from '../../core/model/route.ts';
import { stepUpScopes } from '../../serve/config/step-up-scopes.ts';
import { remedyForSecret } from '../../tokens/servers/secret-remedy.ts';
import { remedyForReason } from '../../capabilities/finding.ts';
import { type Finding, type Findings, findingsOn } from '../../capabilities/finding.ts';

type Metadata = Readonly<Record<string, unknown>>;

/** Examines one authorization server, by the client and the readers that serve requests. */
export async function examineServer(server: AuthorizationServer, config: Config): Promise<readonly Finding[]> {
  const on = findingsOn(`authorization_servers.${server.name}`);
  const client = createServerClient(server, () => {}, Date.now);
  const routes = config.routes.filter((route) => route.authorizationServers.includes(server));
  try {
    const found = [
      examineMetadata(on, client, routes, config),
      ...(server.jwt === undefined
        ? []
        : [guarded(on, server, () => examineKeys(on, client, server.jwt?.algorithms ?? []))]),
      ...(server.introspection === undefined
        ? []
        : [guarded(on, server, async () => [await examineIntrospection(on, client, config)])]),
    ];
    return withoutRepetition((await Promise.all(found)).flat());
  } finally {
    client.close();
  }
}

/** Keys and introspection fail as the metadata do that name their URLs: the first finding has the remedy for all. */
function withoutRepetition(findings: readonly Finding[]): readonly Finding[] {
  return findings.filter(({ text }, index) => index === findings.findIndex((each) => each.text === text));
}

/** A refusal of the code that serves is a finding: its detail says what was expected and what was found. */
async function guarded(
  on: Findings,
  { name }: AuthorizationServer,
  examine: () => Promise<readonly Finding[]>,
): Promise<readonly Finding[]> {
  try {
    return await examine();
  } catch (error) {
    if (!(error instanceof Denial)) throw error;
    const remedy = 'requests that need it get 503: check that the server is up, and its settings here';
    return [on.fail(withoutName(error.detail, name), remedy)];
  }
}

/** The subject of the finding names the server. */
function withoutName(detail: string, name: string): string {
  return detail.startsWith(`${name}: `) ? detail.slice(name.length + 2) : detail;
}

async function examineMetadata(
  on: Findings,
  client: AuthorizationServerClient,
  routes: readonly Route[],
  config: Config,
): Promise<readonly Finding[]> {
  try {
    const { document } = await client.metadata();
    const mcp = routes.filter(({ protocol, resource }) => protocol === 'mcp' && resource !== undefined);
    const forClients = mcp.length === 0 ? [] : examineForClients(on, document, mcp, config, client.server);
    const opaque = examineOpaqueTokens(on, document, client.server, routes);
    return [on.ok(`its metadata names the issuer ${client.server.issuer}`), ...forClients, ...opaque];
  } catch (error) {
    if (!(error instanceof Denial)) throw error;
    const remedy =
      error.cause instanceof OtherIssuer && typeof error.cause.issuer === 'string'
        ? remedyForIssuer(error.cause.issuer, client.server)
        : remedyForReason(error.detail, 'check that it is up, and reachable from here (else set backchannel)');
    return [on.fail(withoutName(error.detail, client.server.name), remedy)];
  }
}

/** RFC 8414 §3.3: both must be equal, byte for byte. */
function remedyForIssuer(found: string, { issuer, backchannel }: AuthorizationServer): string {
  const remedy = `write issuer: ${JSON.stringify(found)}`;
  if (found === `${issuer}/`) return `${remedy}, with the slash at its end`;
  if (issuer === `${found}/`) return `${remedy}, without the slash at its end`;
  const reached = backchannel === issuer ? ', and backchannel with the URL that you have now' : '';
  return `${remedy} if this is the server that you mean${reached}`;
}

/** Examines what MCP clients need of a server, MCP 2025-11-25, Authorization. */
function examineForClients(
  on: Findings,
  metadata: Metadata,
  routes: readonly Route[],
  { publicUrl, frontDoor }: Config,
  server: AuthorizationServer,
): readonly Finding[] {
  return [
    examinePkce(on, metadata, server),
    examineRegistration(on, metadata),
    ...examinePrefix(on, server, routes),
    ...examineResources(
      on,
      metadata,
      routes.map(({ path }) => publicUrl + path),
    ),
    ...(server === frontDoor?.server ? [] : examineStepUp(on, metadata, routes)),
  ];
}

/** RFC 8414 has no member for the form of access tokens. A server that introspects them may issue opaque ones. */
function examineOpaqueTokens(
  on: Findings,
  metadata: Metadata,
  { introspection }: AuthorizationServer,
  routes: readonly Route[],
): readonly Finding[] {
  const unsure = routes.filter(({ statesTokens }) => !statesTokens);
  if (introspection !== undefined || typeof metadata['introspection_endpoint'] !== 'string') return [];
  if (unsure.length === 0) return [];
  const text =
    'it can introspect tokens, and only jwt is configured: the gateway refuses its opaque tokens (token.form)';
  const names = unsure.map(({ name }) => name).join(', ');
  return [on.warn(text, `if it issues opaque tokens, add introspection; if not, set tokens: [jwt] on ${names}`)];
}

function examinePkce(on: Findings, metadata: Metadata, { issuer }: AuthorizationServer): Finding {
  if (has(metadata['code_challenge_methods_supported'], 'S256')) return on.ok('it supports PKCE with S256');
  const text = 'its metadata do not list S256 in code_challenge_methods_supported';
  const isKnown = providerOf(issuer)?.listsPkce === false;
  const remedy = isKnown ? 'let the routes trust the front door' : 'enable PKCE there';
  return on.fail(text, `MCP clients refuse to sign in without it: ${remedy}`);
}

/** Where a product wants a prefix, a scope without one is another API's. */
function examinePrefix(
  on: Findings,
  { issuer, scopePrefix }: AuthorizationServer,
  routes: readonly Route[],
): readonly Finding[] {
  const { title, scopePrefix: example } = providerOf(issuer) ?? {};
  if (example === undefined || scopePrefix !== undefined) return [];
  const scopes = new Set(routes.flatMap(({ policy }) => policy?.scopes ?? []));
  const bare = [...scopes].filter((scope) => prefixedScopes([scope], example)[0] !== scope);
  if (bare.length === 0) return [];
  const text = `policies ask for ${bare.join(' ')}, and ${title} takes a scope without a prefix for one of another API`;
  return [on.fail(text, `set scope_prefix: ${JSON.stringify(example)}, with the id of your API`)];
}

function examineRegistration(on: Findings, metadata: Metadata): Finding {
  const ways = [
    ...(metadata['client_id_metadata_document_supported'] === true ? ['client metadata documents'] : []),
    ...(typeof metadata['registration_endpoint'] === 'string' ? ['dynamic registration'] : []),
  ];
  if (ways.length > 0) return on.ok(`clients introduce themselves by ${ways.join(' or ')}`);
  const text = 'it offers neither client metadata documents nor dynamic registration';
  return on.warn(text, 'register each client there by hand and give the client its client_id');
}

/** RFC 9728 §4. Nothing else in metadata tells for which resources a server issues tokens (RFC 8707). */
function examineResources(on: Findings, metadata: Metadata, resources: readonly string[]): readonly Finding[] {
  const listed = metadata['protected_resources'];
  if (!Array.isArray(listed)) return [];
  return resources.map((resource) =>
    has(listed, resource)
      ? on.ok(`it lists the resource ${resource}`)
      : on.warn(`its protected_resources lack ${resource}`, 'add it there, or clients may get invalid_target'),
  );
}

/**
 * The front door grants a client more than it registered for, other servers may not. A route with
 * `first_challenge: supported` has the remedy; `check` warns if its `scopes_supported` are incomplete.
 */
function examineStepUp(on: Findings, metadata: Metadata, routes: readonly Route[]): readonly Finding[] {
  const registers = typeof metadata['registration_endpoint'] === 'string';
  if (!registers || metadata['client_id_metadata_document_supported'] === true) return [];
  const later = routes
    .filter((route) => route.firstChallenge !== 'supported' && stepUpScopes(route).length > 0)
    .map((route) => `route ${route.name} asks for ${requestedScopes(route, stepUpScopes(route)).join(' ')}`);
  if (later.length === 0) return [];
  const text = `clients register, and ${later.join(' and ')} only later`;
  return [on.warn(text, 'if step-up ends with invalid_scope there, set first_challenge: supported on the route')];
}

async function examineKeys(
  on: Findings,
  client: AuthorizationServerClient,
  accepted: readonly string[],
): Promise<readonly Finding[]> {
  const { set, flawed } = await publishedKeys(client);
  const shown = flawed.map(
    ({ kid, flaw }) => `${kid === undefined ? 'one of its keys' : `its key ${describeValue(kid)}`} ${flaw}`,
  );
  const unused = shown.map((text) =>
    on.warn(`${text}: the gateway does not use it`, 'replace the key there: it is unsafe'),
  );
  return [...unused, examineAlgorithms(on, set.jwks().keys, accepted)];
}

function examineAlgorithms(on: Findings, keys: readonly PublicKey[], accepted: readonly string[]): Finding {
  const named = [...new Set(keys.flatMap((key) => (key.alg === undefined ? [] : keyAlgorithms(key))))];
  const usable = new Set(keys.flatMap(keyAlgorithms));
  const published = [...usable].join(', ') || 'nothing';
  if (!accepted.some((each) => usable.has(each))) {
    const text = `it publishes keys for ${published}; jwt.algorithms accepts ${accepted.join(', ')}`;
    return on.fail(text, 'add the algorithm of its access tokens to jwt.algorithms');
  }
  const refused = named.filter((each) => !accepted.includes(each));
  if (refused.length === 0) return on.ok(`its keys fit jwt.algorithms: ${accepted.join(', ')}`);
  const text = `it also publishes keys for ${refused.join(', ')}, which jwt.algorithms does not accept`;
  return on.warn(text, 'if it signs access tokens with them, add them');
}

/** Asks about a token that does not exist: the credentials are then checked, and no token is shown. */
async function examineIntrospection(on: Findings, client: AuthorizationServerClient, config: Config): Promise<Finding> {
  if (isSecretUnknown(client.server, config)) {
    return on.ok('introspection is not examined: without session_key, only the processes of serve know its secret');
  }
  const { introspection } = client.server;
  if (introspection === undefined) throw new TypeError(`${client.server.name} has no introspection`);
  const madeUp = `${introspection.prefix ?? ''}${randomBytes(24).toString('base64url')}`;
  const { watched, refusal } = watchRefusals(client);
  const introspector = createIntrospector(watched, new KeySource(client, Date.now), config.scopeHierarchy, Date.now);
  try {
    if ((await introspector.afresh(madeUp)).principal !== undefined) {
      return on.fail('its introspection calls a made-up token active', 'it would let every token in: repair it there');
    }
  } catch (error) {
    const refused = refusal();
    if (refused === undefined) throw error;
    return await refusedCredentials(on, introspection.credentials, refused);
  }
  return on.ok(
    'introspection accepts the credentials of the gateway ' +
      '(with --token - doctor sees whether it shows the gateway the tokens of other clients, and their aud)',
  );
}

interface RefusedClient {
  readonly endpoint: string;
  readonly status: number;
}

/** A client whose introspection is watched for an answer that refuses the gateway itself, RFC 7662 §2.3. */
function watchRefusals(client: AuthorizationServerClient): {
  readonly watched: AuthorizationServerClient;
  readonly refusal: () => RefusedClient | undefined;
} {
  let refused: RefusedClient | undefined;
  const watched: AuthorizationServerClient = {
    ...client,
    async post(operation, endpoint, ...rest) {
      const answer = await client.post(operation, endpoint, ...rest);
      const { status, body } = answer;
      if (status === 401 || ownMember(body, 'error') === 'invalid_client') refused = { endpoint, status };
      return answer;
    },
  };
  return { watched, refusal: () => refused };
}

async function refusedCredentials(
  on: Findings,
  credentials: ClientCredentials,
  { endpoint, status }: RefusedClient,
): Promise<Finding> {
  const text = `introspection answered ${status}: it refuses the credentials of ${credentials.clientId}`;
  if (credentials.clientAuth === 'private_key_jwt') {
    return on.fail(text, 'check introspection.client_id, and that its key is registered there');
  }
  const form = new URLSearchParams({ token: randomBytes(24).toString('base64url') });
  const isAccepted = (answered: number, error: unknown): boolean => answered === 200 && error === undefined;
  return on.fail(text, await remedyForSecret(credentials, { endpoint, form, isAccepted }));
}

/** Whether the secret of the gateway at the front door is random: a process that `serve` did not start has another. */
function isSecretUnknown(server: AuthorizationServer, { frontDoor, sessionKey }: Config): boolean {
  return server === frontDoor?.server && sessionKey === undefined && process.env[GATEWAY_SECRET_VARIABLE] === undefined;
}

function has(list: unknown, text: string): boolean {
  return Array.isArray(list) && list.includes(text);
}
