import { createServerClient } from '../../tokens/servers/client.ts';
import { anyPattern } from '../../front-door/url-pattern.ts';
import { ownFetch } from '../../tokens/servers/own-fetch.ts';
import { reasonOf } from '../../core/lib/wording.ts';
import { describeValue } from '../../core/lib/json/describe-value.ts';
import { ownMember } from '../../core/lib/json/own-member.ts';
import { parsedJson } from '../../core/lib/json/parsed.ts';
import type { AuthorizationServer } from '../../core/model/authorization-server.ts';
import type { Config } from '../../ports/config.ts';
import { Denial } from '../../core/model/denial.ts';
import { knownRequests } from '../../core/model/mcp.ts';
import { FRONT_DOOR, type FrontDoor } from '../../ports/front-door.ts';
import { type ClientQuirks, clients, type Obstacle, obstaclesOf } from '../../serve/config/quirks/clients.ts';
import { providerOf, type ServerTraits, standardServer } from '../../serve/config/quirks/providers.ts';
import { requestedScopes, type Route } from '../../core/model/route.ts';
import { stepUpScopes } from '../../serve/config/step-up-scopes.ts';
import { metadataUrl } from '../../core/gateway/respond/resource-metadata.ts';
import { fetchText, memberAt } from './finding.ts';
import { type Finding, type Findings, findingsOn } from '../../capabilities/finding.ts';

type Metadata = Readonly<Record<string, unknown>>;

interface Meeting {
  readonly route: Route;
  readonly server: AuthorizationServer;
  readonly document: Metadata;
  readonly traits: ServerTraits;
}

/** Warns of the known clients that would stop, with one line for all routes where the same ones do. */
export async function examineKnownClients(config: Config): Promise<readonly Finding[]> {
  const { frontDoor } = config;
  const stops = (await meetingsOf(config)).flatMap(({ route, traits, server }) => {
    const met = Object.values<ClientQuirks>(clients)
      .filter((client) => server !== frontDoor?.server || isAdmitted(client, frontDoor))
      .flatMap((client) =>
        obstaclesFor(client, route, traits, server, config).map((obstacle) => ({ obstacle, title: client.title })),
      );
    return [...Map.groupBy(met, ({ obstacle }) => obstacle)].map(([{ text, remedy }, stopped]) => ({
      subject: `routes.${route.name}`,
      text: `${stopped.map(({ title }) => title).join(', ')}: ${text}`,
      remedy,
    }));
  });
  return [...Map.groupBy(stops, ({ text }) => text)].map(([text, same]) =>
    findingsOn(same.map(({ subject }) => subject).join(', ')).warn(text, same[0]?.remedy ?? ''),
  );
}

/**
 * Walks a deployment as one client would, as far as no person is needed.
 *
 * @param registers Whether to register a client where the walk comes to that.
 */
export async function examineClient(name: string, config: Config, registers: boolean): Promise<readonly Finding[]> {
  const client = Object.entries<ClientQuirks>(clients).find(([each]) => each === name)?.[1];
  if (client === undefined) throw new TypeError(`${name} is not a known client`);
  const found = (await meetingsOf(config)).map((meeting) => walk(client, meeting, config, registers));
  const findings = (await Promise.all(found)).flat();
  return findings.length > 0
    ? findings
    : [
        findingsOn(client.title).fail(
          'no MCP route has an authorization server that answers',
          'see the other findings of doctor',
        ),
      ];
}

async function walk(
  client: ClientQuirks,
  meeting: Meeting,
  config: Config,
  registers: boolean,
): Promise<readonly Finding[]> {
  const { route, traits, server } = meeting;
  const on = findingsOn(`${client.title} at routes.${route.name}`);
  const stops = obstaclesFor(client, route, traits, server, config);
  return [
    await examineChallenge(on, route, config),
    ...(await examineResource(on, client, route, config)),
    ...stops.map(({ at, text, remedy }) => on.fail(`it stops at ${at}: ${text}`, remedy)),
    ...examineScopes(on, client, meeting),
    await examineIdentification(on, client, meeting, config, registers),
  ];
}

async function meetingsOf(config: Config): Promise<readonly Meeting[]> {
  const routes = config.routes.filter(({ protocol, resource }) => protocol === 'mcp' && resource !== undefined);
  const found = await Promise.all(routes.map(meetingOf));
  return found.filter((meeting) => meeting !== undefined);
}

async function meetingOf(route: Route): Promise<Meeting | undefined> {
  const [server] = route.authorizationServers;
  if (server === undefined) return undefined;
  const client = createServerClient(server, () => {}, Date.now);
  try {
    const { document } = await client.metadata();
    return { route, server, document, traits: await traitsOf(server, document) };
  } catch (error) {
    if (error instanceof Denial) return undefined;
    throw error;
  } finally {
    client.close();
  }
}

async function traitsOf({ issuer }: AuthorizationServer, document: Metadata): Promise<ServerTraits> {
  const { resource, wantsScope, tokens } = providerOf(issuer) ?? standardServer;
  const { origin, pathname } = new URL(issuer);
  const endpoint = URL.parse(String(document['authorization_endpoint']));
  const methods = document['code_challenge_methods_supported'];
  return {
    registration: typeof document['registration_endpoint'] === 'string' ? 'open' : 'none',
    documents: document['client_id_metadata_document_supported'] === true,
    listsPkce: Array.isArray(methods) && methods.includes('S256'),
    resource,
    wantsScope,
    endpointElsewhere:
      endpoint !== null &&
      endpoint.origin !== origin &&
      document['authorization_response_iss_parameter_supported'] !== true,
    metadataBelowPath:
      pathname !== '/' && (await memberAt(`${origin}/.well-known/oauth-authorization-server`, 'issuer')) !== issuer,
    tokens,
  };
}

function obstaclesFor(
  client: ClientQuirks,
  route: Route,
  server: ServerTraits,
  { name }: AuthorizationServer,
  { endpointsAtRoot }: Config,
): readonly Obstacle[] {
  const stepsUp = stepUpScopes(route).length > 0;
  return obstaclesOf({ client, server, endpointsAtRoot: endpointsAtRoot?.name === name }).filter(
    ({ at }) => at !== 'step-up' || stepsUp,
  );
}

/** The request by which a client opens a session. */
const [opening] = [...knownRequests].find(([, { opensSession }]) => opensSession) ?? [''];

/** Clients begin to sign in only at a 401 with a challenge, `initialize` included. */
async function examineChallenge(on: Findings, route: Route, config: Config): Promise<Finding> {
  const url = config.publicUrl + route.path;
  const remedy = 'let the proxy in front of the gateway pass the status and WWW-Authenticate on';
  try {
    const response = await ownFetch(url, {
      method: 'POST',
      redirect: 'manual',
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: opening,
        params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'doctor', version: '1' } },
      }),
      signal: AbortSignal.timeout(5_000),
    });
    await response.body?.cancel();
    const challenge = response.headers.get('www-authenticate') ?? '';
    if (response.status === 401 && challenge.includes(`resource_metadata="${metadataUrl(route, config.publicUrl)}"`))
      return on.ok('a call without a token gets 401, and the challenge names the metadata');
    return on.fail(`initialize without a token gets ${response.status} and no challenge with the metadata`, remedy);
  } catch (error) {
    return on.fail(`${url} cannot be reached (${reasonOf(error)})`, 'start the gateway, or repair public_url');
  }
}

async function examineResource(
  on: Findings,
  client: ClientQuirks,
  route: Route,
  config: Config,
): Promise<readonly Finding[]> {
  const own = config.publicUrl + route.path;
  const root = `${config.publicUrl}/.well-known/oauth-protected-resource`;
  const found: Finding[] = [];
  if (client.resourceMetadata === 'root') {
    const taken = await memberAt(root, 'resource');
    if (typeof taken === 'string' && taken !== own) {
      found.push(on.fail(`it takes ${taken}, the resource of ${root}`, 'remove root_resource, or use one route'));
    }
  }
  if (client.comparesResource === true) {
    found.push(on.ok(`its user must enter exactly ${own}: it refuses any other spelling`));
  }
  if (client.resource === 'origin' && route.authorizationServers[0]?.name === FRONT_DOOR) {
    const resources = config.routes.filter(({ authorizationServers: [first] }) => first?.name === FRONT_DOOR);
    if (resources.length > 1) {
      const text = 'it sends the origin as resource, which several routes of the front door have';
      found.push(on.fail(text, 'give the front door one route, or each route a public_url of its own'));
    }
  }
  return found;
}

function examineScopes(on: Findings, client: ClientQuirks, { route, document }: Meeting): readonly Finding[] {
  const later = requestedScopes(route, stepUpScopes(route));
  const found: Finding[] = [];
  if (later.length > 0 && client.stepUp === 'unknown') {
    const text = `whether it asks for ${later.join(' ')} after a 403 is not known`;
    found.push(on.warn(text, 'list every scope in resource.scopes_supported, and set first_challenge: supported'));
  }
  const supported = document['scopes_supported'];
  const lacking = requestedScopes(route, route.policy?.scope ?? []).filter(
    (scope) => !(Array.isArray(supported) && supported.includes(scope)),
  );
  if (client.scope === 'server metadata' && lacking.length > 0) {
    const text = `it asks for scopes_supported of the server, which lack ${lacking.join(' ')}`;
    found.push(on.fail(text, 'add them there, or let the route trust the front door'));
  }
  return found;
}

async function examineIdentification(
  on: Findings,
  client: ClientQuirks,
  { server, document, traits }: Meeting,
  { frontDoor }: Config,
  registers: boolean,
): Promise<Finding> {
  const isFrontDoor = frontDoor !== undefined && server === frontDoor.server;
  const { metadataDocument: own } = client;
  if (own !== undefined && traits.documents && (!isFrontDoor || isListed(own, frontDoor))) {
    return on.ok(`it is identified by its metadata document, ${own}`);
  }
  if (traits.registration === 'none') {
    const uris = client.redirectUris.length === 0 ? 'its redirect URI' : client.redirectUris.join(' ');
    const text = 'the server takes no registration of it';
    return on.warn(text, `register a client there by hand, with ${uris}, and enter its client_id in the product`);
  }
  const uris = sampleUris(client);
  const refused = isFrontDoor ? uris.filter((uri) => !mayRegister(uri, frontDoor)) : [];
  if (refused.length > 0) {
    const name = Object.entries<ClientQuirks>(clients).find(([, each]) => each === client)?.[0] ?? '';
    const known = client.redirectUris.length === 0 ? 'known:loopback' : `known:${name}`;
    return on.fail(
      `its registration is refused: ${refused.join(' ')}`,
      `add ${known} to front_door.clients.registration.redirect_uris`,
    );
  }
  if (!registers) return on.ok('it registers itself (--register tries that)');
  return register(on, String(document['registration_endpoint']), client.title, uris);
}

/** Whether the front door lets a client sign in. Its operator wants to know nothing of others. */
function isAdmitted(client: ClientQuirks, frontDoor: FrontDoor): boolean {
  const { metadataDocument: own } = client;
  if (own !== undefined && isListed(own, frontDoor)) return true;
  return sampleUris(client).every((uri) => mayRegister(uri, frontDoor));
}

function isListed(url: string, { clients: { metadataDocuments } }: FrontDoor): boolean {
  return anyPattern(metadataDocuments)(url.replace('*', 'doctor'));
}

function mayRegister(uri: string, { clients: { registration } }: FrontDoor): boolean {
  return anyPattern(registration?.redirectUris ?? [])(uri);
}

function sampleUris({ redirectUris }: ClientQuirks): readonly string[] {
  const patterns = redirectUris.length === 0 ? ['http://127.0.0.1:*/callback'] : redirectUris;
  return patterns.map((pattern) => pattern.replace(':*', ':33418').replace(/\*+$/, 'doctor'));
}

async function register(on: Findings, url: string, title: string, uris: readonly string[]): Promise<Finding> {
  try {
    const { status, text } = await fetchText(url, {
      method: 'POST',
      json: {
        client_name: `${title} (sallyport doctor)`,
        redirect_uris: uris,
        token_endpoint_auth_method: 'none',
        grant_types: ['authorization_code'],
        response_types: ['code'],
      },
    });
    if (status === 201) return on.ok('it could register itself; remove the client "(sallyport doctor)" there');
    const answer = parsedJson(text);
    const error = describeValue(ownMember(answer, 'error_description') ?? ownMember(answer, 'error') ?? '');
    return on.fail(`its registration gets ${status}: ${error}`, 'allow it there');
  } catch (error) {
    return on.fail(`${url} cannot be reached (${reasonOf(error)})`, 'check it at the server');
  }
}
