import { createHash, randomBytes } from 'node:crypto';
import { createBrowser, signIn } from '../../demo/browser.ts';
import type { ClientQuirks, Obstacle } from '../../src/serve/config/quirks/clients.ts';
import { postMessage } from './mcp-message.ts';
import { keepSecret } from './secrecy.ts';

/** The step at which a client stopped, and the error that it got. */
export class Stopped extends Error {
  override readonly name = 'Stopped';
  readonly at: Obstacle['at'] | 'challenge' | 'registration' | 'token' | 'call';

  constructor(at: Stopped['at'], why: string) {
    super(why);
    this.at = at;
  }
}

type Json = Readonly<Record<string, unknown>>;

/** How a client is set up. */
export interface ClientOptions {
  /** A client id that its user entered; otherwise it registers itself. */
  readonly clientId?: string;
  /** The query of the URL that its user entered, for clients that send it in `resource`. */
  readonly query?: string;
}

/**
 * Walks the way of one client at an MCP server: signed in, listed, called, stepped up, refreshed, stepped up again. The
 * tools are `look`, `pay` and `admin`.
 *
 * @throws {Stopped} where it stops.
 */
export async function walk(client: ClientQuirks, url: string, options: ClientOptions = {}): Promise<void> {
  const { origin } = new URL(url);
  const browser = createBrowser();
  const first = await post(url, 'initialize', {});
  const challenge = first.headers.get('www-authenticate') ?? '';
  if (first.status !== 401) throw new Stopped('challenge', `initialize got ${first.status}`);

  const resource = await resourceMetadata();
  const [issuer = ''] = resource['authorization_servers'] as readonly string[];
  const server = await serverMetadata();
  const own =
    options.clientId === undefined ? await registered() : { id: options.clientId, redirectUri: redirects()[0] ?? '' };

  let tokens = await signedIn(firstScope());
  await called('tools/list');
  await called('look');
  await stepUp('pay');
  const refresh = { grant_type: 'refresh_token', refresh_token: String(tokens['refresh_token']) };
  tokens = await redeem({ ...refresh, ...(client.refreshes === 'with resource' && named()) });
  await called('pay');
  await stepUp('admin');

  async function resourceMetadata(): Promise<Json> {
    const [, byChallenge = ''] = /resource_metadata="([^"]+)"/.exec(challenge) ?? [];
    const root =
      client.resourceMetadata === 'root' ? await document(`${origin}/.well-known/oauth-protected-resource`) : undefined;
    const found = root ?? (await document(byChallenge));
    if (found === undefined) throw new Stopped('discovery', 'no metadata of the resource');
    if (client.comparesResource === true && found['resource'] !== url) {
      throw new Stopped('discovery', `${String(found['resource'])} is not ${url}`);
    }
    return found;
  }

  async function serverMetadata(): Promise<Json> {
    const at = new URL(issuer);
    const path = at.pathname.replace(/\/$/, '');
    const [oauth, openid] = ['oauth-authorization-server', 'openid-configuration'].map(
      (name) => `/.well-known/${name}`,
    );
    const places =
      client.serverMetadata === 'at the origin'
        ? [`${at.origin}${oauth}`, `${at.origin}${openid}`]
        : [`${at.origin}${oauth}${path}`, `${at.origin}${openid}${path}`, `${at.origin}${path}${openid}`];
    let found: Json | undefined;
    for (const place of places) {
      found ??= await document(place);
    }
    if (found === undefined) throw new Stopped('discovery', `no metadata at ${places.join(' or ')}`);
    if (found['issuer'] !== issuer) throw new Stopped('discovery', 'the metadata are of another issuer');
    if (client.wantsPkceListed === true && found['code_challenge_methods_supported'] === undefined) {
      return atRoot(found);
    }
    const endpoint = new URL(String(found['authorization_endpoint']));
    const promisesIss = found['authorization_response_iss_parameter_supported'] === true;
    if (client.wantsIss === true && endpoint.origin !== at.origin && !promisesIss) {
      throw new Stopped('discovery', 'the authorization endpoint has another origin, and iss is not promised');
    }
    return found;
  }

  /** The endpoints at the root of the MCP server, if there are any. */
  async function atRoot(found: Json): Promise<Json> {
    const { status } = await fetch(`${origin}/authorize`, { redirect: 'manual' });
    if (client.fallsBackToRoot !== true || status !== 302) {
      throw new Stopped('discovery', 'the metadata have no code_challenge_methods_supported');
    }
    return { ...found, authorization_endpoint: `${origin}/authorize`, token_endpoint: `${origin}/token` };
  }

  function redirects(): readonly string[] {
    const patterns = client.redirectUris.length === 0 ? ['http://127.0.0.1:*/callback'] : client.redirectUris;
    return patterns.map((pattern) => pattern.replace(':*', ':33418').replace(/\*+$/, 'x'));
  }

  async function registered(): Promise<{ readonly id: string; readonly redirectUri: string }> {
    const uris = redirects();
    let id = '';
    for (let time = 0; time < (client.registrations ?? 1); time += 1) {
      const response = await fetch(String(server['registration_endpoint']), {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({
          client_name: client.title,
          redirect_uris: uris,
          token_endpoint_auth_method: 'none',
          grant_types: ['authorization_code', 'refresh_token'],
        }),
      });
      const body = (await response.json()) as Json;
      if (response.status !== 201) throw new Stopped('registration', String(body['error_description']));
      id = String(body['client_id']);
    }
    // Another port than it registered, as where that one is busy.
    return { id, redirectUri: (uris[0] ?? '').replace(':33418', ':59656') };
  }

  function firstScope(): string | undefined {
    if (client.scope === 'none') return undefined;
    if (client.scope === 'challenge') return /scope="([^"]+)"/.exec(challenge)?.[1];
    return (server['scopes_supported'] as readonly string[] | undefined)?.slice(0, 1).join(' ');
  }

  function named(): { readonly resource: string } {
    switch (client.resource) {
      case 'origin':
        return { resource: `${origin}/` };
      case 'entered':
        return { resource: url + (options.query ?? '') };
      case 'published':
        return { resource: String(resource['resource']) };
      default:
        throw new TypeError(`${String(client.resource satisfies never)} is not a kind of resource`);
    }
  }

  async function signedIn(scope: string | undefined): Promise<Json> {
    const verifier = randomBytes(32).toString('base64url');
    const authorizationUrl = new URL(String(server['authorization_endpoint']));
    const asked = {
      client_id: own.id,
      redirect_uri: own.redirectUri,
      response_type: 'code',
      state: 'the state of the client',
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
      ...(scope !== undefined && { scope }),
      ...named(),
    };
    for (const [name, value] of Object.entries(asked)) authorizationUrl.searchParams.set(name, value);
    const back = await signIn({ authorizationUrl, user: '', browser });
    const error = back.searchParams.get('error');
    if (error !== null) throw new Stopped('authorization', `${error}: ${back.searchParams.get('error_description')}`);
    const promisesIss = server['authorization_response_iss_parameter_supported'] === true;
    if (promisesIss && back.searchParams.get('iss') !== issuer) throw new Stopped('authorization', 'iss is another');
    const form = { grant_type: 'authorization_code', code: back.searchParams.get('code') ?? '' };
    return redeem({ ...form, redirect_uri: own.redirectUri, code_verifier: verifier, ...named() });
  }

  async function redeem(form: Readonly<Record<string, string>>): Promise<Json> {
    const body = new URLSearchParams({ client_id: own.id, ...form });
    const response = await fetch(String(server['token_endpoint']), { method: 'POST', body });
    const answer = (await response.json()) as Json;
    for (const name of ['access_token', 'refresh_token']) keepSecret(answer[name] as string | undefined);
    if (response.status !== 200)
      throw new Stopped('token', `${String(answer['error'])}: ${String(answer['error_description'])}`);
    return answer;
  }

  async function called(tool: string): Promise<void> {
    const { status, headers } = await ask(tool);
    if (status !== 200) throw new Stopped('call', `${tool} got ${status} ${headers.get('www-authenticate') ?? ''}`);
  }

  function ask(tool: string): Promise<Response> {
    const token = String(tokens['access_token']);
    return tool === 'tools/list'
      ? post(url, tool, {}, token)
      : post(url, 'tools/call', { name: tool, arguments: {} }, token);
  }

  async function stepUp(tool: string): Promise<void> {
    const refused = await ask(tool);
    const [, scope = ''] = /scope="([^"]+)"/.exec(refused.headers.get('www-authenticate') ?? '') ?? [];
    if (refused.status !== 403 || scope === '')
      throw new Stopped('call', `${tool} got ${refused.status} without a scope`);
    if (client.stepUp === 'no') throw new Stopped('step-up', `it does not ask for ${scope}`);
    tokens = await signedIn(scope);
    await called(tool);
  }
}

async function post(url: string, method: string, params: object, token?: string): Promise<Response> {
  const response = await postMessage(url, { method, params, token });
  await response.body?.cancel();
  return response;
}

async function document(url: string): Promise<Json | undefined> {
  const response = await fetch(url);
  if (response.status === 200) return (await response.json()) as Json;
  await response.body?.cancel();
  return undefined;
}
