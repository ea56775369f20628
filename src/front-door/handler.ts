import type { IncomingMessage, ServerResponse } from 'node:http';
import { parse as parseForm, type ParsedUrlQuery, stringify as formText } from 'node:querystring';
import { errors, type KoaContextWithOIDC, type Provider } from 'oidc-provider';
import { loadOnce } from '../core/lib/single-flight.ts';
import type { TokenBuckets } from '../core/lib/token-buckets.ts';
import type { Config } from '../ports/config.ts';
import { type ApprovalSettings, approvalSettings } from '../ports/approval-settings.ts';
import { type ClientGrant, FRONT_DOOR, type FrontDoor, WORKLOAD_PREFIX } from '../ports/front-door.ts';
import type { FrontDoorObserver } from './observer.ts';
import type { LogStore } from '../ports/store.ts';
import { boundedBytes } from '../core/lib/http/bodies.ts';
import { http } from '../core/lib/http/node-http.ts';
import { deviceGrant, hasDevices, isWorkload } from './client-policy.ts';
import { TooManyCodes, WRONG_SECONDS } from './devices.ts';
import { workloadRequest } from './workloads.ts';
import { createAdmission, type Excess } from './admission.ts';
import { createBrowserBinding } from './browser-binding.ts';
import { createCallback } from './callback.ts';
import { createProviderOfAddress, createProviderClient } from './identity-provider.ts';
import { createInteractions, requireSameOrigin } from './interactions.ts';
import { sendPage, showPage } from './page.ts';
import { failedPage } from './pages.ts';
import { createPeople } from './people.ts';
import { createProvider, type ProviderSurroundings } from './provider.ts';
import { createResources, type Resources } from './resources.ts';
import { isEndpoint, isWellKnown, routes } from './routes.ts';
import { createScopeRules, type ScopeRules } from './scope-rules.ts';
import { createSignIns } from './sign-ins.ts';
import { texts } from './texts.ts';

/** Answers one request. Never throws. */
export type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** The parts of a handler besides the configuration. */
export interface HandlerParts extends ProviderSurroundings {
  readonly observer: FrontDoorObserver;
  /** The requests of each address. */
  readonly buckets: TokenBuckets;
  readonly log: LogStore;
  readonly onBug: (error: unknown) => void;
}

/**
 * The policy of pages that oidc-provider shows itself. It adds the hash of a script of its own to `script-src`, whose
 * `'report-sample'` allows nothing. There is no `form-action`: a form goes to the client, as a redirect does.
 */
const foreignPagePolicy = [
  "default-src 'none'",
  "script-src 'report-sample'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** A path that begins with exactly one slash: `//` and `/\\` begin a host for many parsers. */
const originForm = /^\/(?![/\\])/;

/** When a client may try again after a 503: a full or an absent store may take a new record then. */
const RETRY_SECONDS = 10;

/** The interval of warnings of one limit. */
const SILENT_MS = 60_000;

/** Builds everything that answers by one configuration. */
export function createHandler(config: Config, frontDoor: FrontDoor, parts: HandlerParts): Handler {
  const { store, clock, observer, log, onBug } = parts;
  const { issuer } = frontDoor;
  const base = new URL(issuer);
  const prefix = base.pathname.replace(/\/$/, '');
  const scopes = createScopeRules(frontDoor);
  const hasDevice = hasDevices(frontDoor);
  const resources = createResources(config);
  const people = createPeople(store, clock);
  const browsers = createBrowserBinding(issuer, parts.keys.cookie);
  const admission = createAdmission(frontDoor, config.trustedProxies, parts.buckets);
  const silentUntil = new Map<string, number>();
  const approvals = approvalsOf(config);
  const provider = createProvider({
    ...parts,
    hasApprovals: approvals !== undefined,
    frontDoor,
    scopes,
    resources,
    people,
    browsers,
    admission,
  });
  const signIns = createSignIns(store, browsers, clock);
  const providers = new Map(
    [...frontDoor.providers.values()].map((settings) => [
      settings.name,
      createProviderClient(settings, `${issuer}/callback/${settings.name}`, clock),
    ]),
  );
  const providerOfAddress = createProviderOfAddress(frontDoor.providers.values());
  const shared = { provider, people, scopes, resources, browsers, signIns, providers, observer };
  const interactions = createInteractions({ ...shared, providerOfAddress });
  const callback = createCallback({ ...shared, recorded: config.log.details.claims, clock });
  observe(provider, observer, onBug);
  provider.on('code_verification.error', ({ req }, error) => {
    if (error instanceof TooManyCodes) warnOfLimit('wrong codes of devices', admission.addressOf(req));
  });
  addDefaults(provider, { prefix, resources, scopes, frontDoor });
  const answer = provider.callback();

  // Loaded when a person first comes: few front doors have approvals.
  const approvalPages =
    approvals &&
    loadOnce(async () => {
      const { createApprovalHandler } = await import('./approvals.ts');
      const about = { frontDoor, provider, people, scopes, clock, key: parts.keys.cookie, prefix };
      return createApprovalHandler({ ...about, settings: approvals });
    });

  return (request, response) => {
    handle(request, response).catch((error: unknown) => {
      if (response.headersSent) {
        response.destroy();
        onBug(error);
      } else if (error instanceof errors.OIDCProviderError) {
        const why =
          error instanceof errors.SessionNotFound ? texts.failed.expired : (error.error_description ?? error.error);
        if (error.status === 503) response.setHeader('retry-after', RETRY_SECONDS);
        sendPage(response, error.status, failedPage(why, error.error));
      } else {
        onBug(error);
        sendPage(response, 500, failedPage(texts.failed.unavailable, 'server_error'));
      }
    });
  };

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    // RFC 9112 §3.2.1: only the origin form. Any other names a host or a scheme, which oidc-provider would believe.
    const { url: target = '' } = request;
    if (!originForm.test(target)) return void response.writeHead(400).end();
    // Everything is built from the issuer. What the request says of its host and scheme counts for nothing.
    request.headers.host = base.host;
    request.headers['x-forwarded-proto'] = base.protocol.replace(':', '');
    request.headers['x-forwarded-host'] = base.host;
    const [pathOfAll = '', ...rest] = target.split('?');
    const path = pathBelow(pathOfAll);
    if (path === undefined) return notFound(response);
    const query = rest.join('?');
    const [, place, name = ''] = /^\/(interaction|callback)\/([^/]+)$/.exec(path) ?? [];
    const [isApproval, approval = ''] = /^\/approval(?:s|\/([\w-]{1,64}))?$/.exec(path) ?? [];
    // The router of oidc-provider takes `/AUTHORIZE` and `/authorize/` too, for which no limit would hold.
    if (place === undefined && isApproval === undefined && !isEndpoint(path)) return notFound(response);
    const excess = admission.excess(request, path);
    if (excess !== undefined) {
      warnOfLimit(`front_door.limits.${excess.limit}`, admission.addressOf(request));
      return refuseForNow(path, response, excess);
    }
    const isShown = isApproval !== undefined && isOneOf(request, approval === '' ? ['GET'] : ['GET', 'POST']);
    if (approvalPages !== undefined && isShown)
      return (await approvalPages())(request, response, path.slice(1), new URLSearchParams(query));
    if (place === 'interaction' && isOneOf(request, ['GET', 'POST'])) return interactions(request, response, name);
    if (place === 'callback' && isOneOf(request, ['GET'])) {
      return callback(request, response, name, new URLSearchParams(query));
    }
    if (!isEndpoint(path) || (isDevicePath.test(path) && !hasDevice)) return notFound(response);
    if (path === routes.code_verification && request.method === 'POST') requireSameOrigin(request, base.origin);
    const sent = await prepared(request, response, path);
    if (sent === undefined) return;
    // Also where oidc-provider shows a page of its own: after a sign-out without a session, for example.
    response.setHeader('x-frame-options', 'DENY');
    response.setHeader('content-security-policy', foreignPagePolicy);
    sent.url = rest.length === 0 ? path : `${path}?${query}`;
    mount(sent, prefix);
    return answer(sent, response);
  }

  /** The request in the form that oidc-provider serves; undefined: it was answered. */
  async function prepared(
    request: IncomingMessage,
    response: ServerResponse,
    path: string,
  ): Promise<IncomingMessage | undefined> {
    if (request.method !== 'POST') return request;
    if (path === routes.token && frontDoor.workloads.size > 0) return admitWorkload(request, response);
    if (path !== routes.device_authorization) return request;
    const body = await readBody(request, response);
    return body && withBody(request, Buffer.from(formText(completed(parseForm(body.toString()), resources))));
  }

  /**
   * The request as oidc-provider serves it: a workload is no client, and its request gets the identifier of one.
   * Undefined: it was answered.
   */
  async function admitWorkload(
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<IncomingMessage | undefined> {
    const body = await readBody(request, response);
    if (body === undefined) return undefined;
    const form = new URLSearchParams(body.toString());
    const kind = workloadRequest(form, request, frontDoor.assertions.size > 0);
    if (kind === undefined) return withBody(request, body);
    if (kind === 'admitted') {
      form.set('client_id', WORKLOAD_PREFIX);
      return withBody(request, Buffer.from(form.toString()));
    }
    const why = 'a workload does not authenticate as a client';
    observer.token('workload', 'invalid_request', { why });
    refuseJson(response, 400, { error: 'invalid_request', error_description: why });
    return undefined;
  }

  /** At most once a minute for each limit: a flood must not fill the log too. */
  function warnOfLimit(limit: string, address: string): void {
    if (clock() < (silentUntil.get(limit) ?? 0)) return;
    silentUntil.set(limit, clock() + SILENT_MS);
    log('warn', 'front door limit exceeded', { limit, address });
  }

  function pathBelow(path: string): string | undefined {
    // Some clients drop the path of the issuer.
    if (isWellKnown(path)) return path;
    // RFC 8414 §3.1: the well-known part is inserted before the path of the issuer.
    const inserted = path.endsWith(prefix) ? path.slice(0, path.length - prefix.length) : '';
    if (isWellKnown(inserted)) return inserted;
    return prefix === '' || path.startsWith(`${prefix}/`) ? path.slice(prefix.length) : undefined;
  }
}

function approvalsOf(config: Config): ApprovalSettings | undefined {
  const approvals = approvalSettings.of(config);
  return approvals?.route.authorizationServers.some(({ name }) => name === FRONT_DOOR) === true ? approvals : undefined;
}

/** Makes it a request to a mounted application of Koa: oidc-provider takes its mount path from the two URLs. */
function mount(request: IncomingMessage, prefix: string): void {
  Object.assign(request, { originalUrl: prefix + String(request.url) });
}

const pages = /^\/(?:authorize|sign-out|interaction|callback|approvals?|device(?!\/authorization$))(?:\/|$)/;
const isDevicePath = /^\/device(?:\/|$)/;

/** Refuses a caller whose address has sent too many requests, to people as a page and else as an OAuth error. */
function refuseForNow(path: string, response: ServerResponse, { limit, waitMs }: Excess): void {
  response.setHeader('retry-after', Math.ceil(waitMs / 1000));
  const error = 'temporarily_unavailable';
  const why = texts.failed.tooMany(limit);
  if (pages.test(path)) return sendPage(response, 429, failedPage(why, error));
  refuseJson(response, 429, { error, error_description: why });
}

/** RFC 6749 §5.2. */
function refuseJson(
  response: ServerResponse,
  status: number,
  body: { readonly error: string; readonly error_description: string },
): void {
  const headers = {
    'content-type': 'application/json',
    'cache-control': 'no-store',
    'access-control-allow-origin': '*',
  };
  response.writeHead(status, headers).end(JSON.stringify(body));
}

/** The longest body that oidc-provider reads. */
const MAX_BODY_BYTES = 56 * 1024;

/** The body of a request; undefined: it was refused, or the caller has left. */
async function readBody(request: IncomingMessage, response: ServerResponse): Promise<Buffer | undefined> {
  const tooLong = new errors.InvalidRequest('failed to parse the request body', 413);
  try {
    return await boundedBytes(request, MAX_BODY_BYTES, () => tooLong);
  } catch (error) {
    if (error !== tooLong) response.destroy();
    else refuseJson(response, 413, { error: tooLong.error, error_description: 'the request body is too long' });
    return undefined;
  }
}

/** A request that was read, with the same or another body. */
function withBody(request: IncomingMessage, body: Buffer): IncomingMessage {
  const { method, url, headers, httpVersion, httpVersionMajor, httpVersionMinor } = request;
  const { 'transfer-encoding': _, ...kept } = headers;
  const sent = new http.IncomingMessage(request.socket);
  // `complete`: Node ends the connection of a request whose body ended early.
  Object.assign(sent, { method, url, httpVersion, httpVersionMajor, httpVersionMinor, complete: true });
  sent.headers = { ...kept, 'content-length': String(body.length) };
  sent.push(body);
  sent.push(null);
  return sent;
}

function notFound(response: ServerResponse): void {
  response.writeHead(404).end();
}

function isOneOf({ method }: IncomingMessage, methods: readonly string[]): boolean {
  return methods.includes(method ?? '');
}

function observe(provider: Provider, observer: FrontDoorObserver, onBug: (error: unknown) => void): void {
  const grantOf = (ctx: KoaContextWithOIDC): string => {
    const grant = ctx.oidc.params?.['grant_type'];
    if (isWorkload(ctx.oidc.client?.clientId ?? '')) return 'workload';
    return typeof grant === 'string' && grant.length < 100 ? grant : 'unknown';
  };
  const clientOf = (ctx: KoaContextWithOIDC): { readonly client_id?: string } =>
    ctx.oidc.client === undefined || ctx.oidc.client.clientId === WORKLOAD_PREFIX
      ? {}
      : { client_id: ctx.oidc.client.clientId };
  provider.on('grant.success', (ctx) => observer.token(grantOf(ctx), 'ok', clientOf(ctx)));
  provider.on('grant.error', (ctx, error) => {
    const { error_detail: why } = error;
    observer.token(grantOf(ctx), error.error, { ...clientOf(ctx), ...(why !== undefined && { why }) });
  });
  provider.on('device_authorization.error', (ctx, { error, error_detail: detail, error_description: why = '' }) =>
    observer.token(deviceGrant, error, { ...clientOf(ctx), why: detail ?? why }),
  );
  provider.on('registration_create.success', () => observer.registration('ok'));
  provider.on('registration_create.error', ({ oidc }, { error, error_description: why }) => {
    const name = oidc.body?.['client_name'];
    observer.registration(error, {
      ...(typeof name === 'string' && { client_name: name.slice(0, 100) }),
      ...(why !== undefined && { why: why.slice(0, 300) }),
    });
  });
  provider.on('server_error', (_ctx, error) => onBug(error));
}

/** Adds what oidc-provider lacks: a default scope, CORS for registrations, and one member of their answer. */
function addDefaults(
  provider: Provider,
  about: {
    readonly prefix: string;
    readonly resources: Resources;
    readonly scopes: ScopeRules;
    readonly frontDoor: FrontDoor;
  },
): void {
  const { prefix, resources, scopes, frontDoor } = about;
  provider.use(async (ctx, next) => {
    const isRegistration = ctx.path === routes.registration;
    if (isRegistration) {
      ctx.set('access-control-allow-origin', '*');
      if (ctx.method === 'OPTIONS') {
        ctx.set('access-control-allow-methods', 'POST');
        ctx.set('access-control-allow-headers', 'authorization, content-type, mcp-protocol-version');
        ctx.status = 204;
        return;
      }
    }
    if (ctx.path === routes.authorization) {
      ctx.query = completed(ctx.query, resources);
      mount(ctx.req, prefix);
    }
    if (ctx.path === routes.code_verification && ctx.method === 'GET') {
      // oidc-provider would look the code up at once: a GET must not tell whether there is one.
      ctx.state['userCode'] = ctx.query['user_code'];
      ctx.query = {};
      mount(ctx.req, prefix);
    }
    await next().catch((error: unknown) => {
      // To a browser without a session, oidc-provider shows no error of a device: it fails to save what it never kept.
      if (!isDevicePath.test(ctx.path) || !(error instanceof TypeError) || !error.message.includes('Sessions'))
        throw error;
      ctx.status = 400;
      showPage(ctx, failedPage(texts.failed.expired, 'invalid_request'));
    });
    if (ctx.status === 429) ctx.set('retry-after', String(WRONG_SECONDS));
    if (ctx.status === 503) ctx.set('retry-after', String(RETRY_SECONDS));
    // Not one of the client's settings: oidc-provider would then require OpenID Connect in each of its requests.
    if (isRegistration && ctx.status === 201) {
      Object.assign(ctx.body as object, { scope: scopes.all, default_acr_values: [] });
    }
    if (isWellKnown(ctx.path) && ctx.status === 200)
      completeMetadata(ctx.body as Record<string, unknown>, frontDoor, scopes);
  });
}

/** The query of an authorization request, with its resource in the spelling of grants, and a scope. */
function completed(query: ParsedUrlQuery, resources: Resources): ParsedUrlQuery {
  const resource = query['resource'] === undefined ? undefined : namedResource(query['resource'], resources);
  // RFC 6749 §3.3: what a request without a scope asks for is ours to say.
  const absent = query['scope'] === undefined || query['scope'] === '' ? resources.defaultScope(resource) : '';
  // RFC 9470 §4: clients of OAuth alone send these too, which oidc-provider takes with `openid` only.
  const isOfOpenId = query['acr_values'] !== undefined || query['max_age'] !== undefined;
  const asked = absent === '' ? query['scope'] : absent;
  const scope =
    isOfOpenId && typeof asked === 'string' && !asked.split(' ').includes('openid') ? `${asked} openid` : absent;
  return { ...query, ...(resource !== undefined && { resource }), ...(scope !== '' && { scope }) };
}

/** Leaves a value that names no resource for oidc-provider to refuse. It would take an empty text for an absent one. */
function namedResource(resource: string | string[], resources: Resources): string | string[] {
  if (typeof resource !== 'string') return resource;
  try {
    return resource === '' ? ' ' : resources.nameOf(resource);
  } catch {
    return resource;
  }
}

/**
 * Completes the metadata that oidc-provider is about to publish, RFC 8414 §2. The front door publishes only scopes that
 * give access: `openid` works and means nothing, and `offline_access` does not exist: the client decides on refresh
 * tokens.
 */
function completeMetadata(
  document: Record<string, unknown>,
  { clients, assertions }: FrontDoor,
  scopes: ScopeRules,
): void {
  document['scopes_supported'] = scopes.all.split(' ');
  const registered = [...clients.registered.values()];
  const isOfClients = (grant: ClientGrant): boolean => registered.some(({ grants: own }) => own.has(grant));
  const absent = new Set<unknown>([
    ...(clients.refresh || isOfClients('refresh_token') ? [] : ['refresh_token']),
    // oidc-provider has it for workloads too, whose tokens are of its kind.
    ...(isOfClients('client_credentials') ? [] : ['client_credentials']),
  ]);
  const grants = document['grant_types_supported'];
  if (Array.isArray(grants)) document['grant_types_supported'] = grants.filter((grant) => !absent.has(grant));
  // MCP enterprise-managed authorization: clients look for the profile before they ask for an assertion.
  if (assertions.size > 0)
    document['authorization_grant_profiles_supported'] = ['urn:ietf:params:oauth:grant-profile:id-jag'];
}
