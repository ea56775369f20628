import { createHmac, randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { errors, type Provider } from 'oidc-provider';
import { createJsonFetcher } from '../tokens/servers/fetch-json.ts';
import { openDirectRequest } from '../core/lib/http/own-requests.ts';
import { parseToRewrite } from '../core/lib/json/lossless.ts';
import { isObject } from '../core/lib/json/own-member.ts';
import { isSameSecret } from '../core/lib/digest.ts';
import type { ApprovalSettings } from '../core/model/approval-settings.ts';
import { APPROVAL_CLIENT } from './client-policy.ts';
import { isRegistered } from './clients.ts';
import { approvalNotice, approvalPage, type ApprovalPageView } from './approval-page.ts';
import { readForm, requireSameOrigin } from './interactions.ts';
import { redirect, sendPage } from './page.ts';
import type { Person } from './people.ts';
import { type ProviderParts, signInOf } from './provider.ts';
import { routes } from './routes.ts';
import { texts } from './texts.ts';

/** The parts of the page. */
export interface ApprovalPageParts extends Pick<ProviderParts, 'frontDoor' | 'people' | 'scopes' | 'clock'> {
  readonly settings: ApprovalSettings;
  readonly provider: Provider;
  /** What only the front door knows. */
  readonly key: string;
  /** The path of the issuer. */
  readonly prefix: string;
}

interface SignedIn {
  readonly person: Person;
  readonly session: string;
  readonly signedInAt: number;
  readonly acr: string | undefined;
  readonly amr: string[] | undefined;
}

const TOKEN_SECONDS = 60;
const TIMEOUT_MS = 10_000;
const MAX_BYTES = 8 * 1024 * 1024;

/**
 * Creates what answers `/approval/ID`, the page on which people approve calls. They sign in at their provider; the
 * gateway judges them by a token as any other client would get it.
 */
export function createApprovalHandler(
  parts: ApprovalPageParts,
): (request: IncomingMessage, response: ServerResponse, id: string, query: URLSearchParams) => Promise<void> {
  const { settings, frontDoor, provider, people, scopes, clock, key, prefix } = parts;
  const { issuer } = frontDoor;
  const origin = new URL(issuer).origin;
  const fetcher = createJsonFetcher(openDirectRequest);

  async function signedIn(request: IncomingMessage, response: ServerResponse): Promise<SignedIn | undefined> {
    const session = await provider.Session.get(provider.createContext(request, response));
    const { accountId, loginTs = 0, jti, acr, amr } = session;
    const person = accountId === undefined ? undefined : await people.find(accountId);
    // A provider that the operator has removed vouches for no person any more.
    if (person === undefined || !frontDoor.providers.has(person.provider)) return undefined;
    return { person, session: jti, signedInAt: loginTs, acr, amr };
  }

  function sendToSignIn(response: ServerResponse, id: string): void {
    const url = new URL(`${issuer}${routes.authorization}`);
    const anyAge = scopes.freshEnough(Infinity);
    url.search = new URLSearchParams({
      client_id: APPROVAL_CLIENT,
      response_type: 'code',
      redirect_uri: `${issuer}/approval`,
      resource: String(settings.route.audiences[0]),
      scope: anyAge === '' ? scopes.all : anyAge,
      state: id,
      // Its verifier is known to no party: the code is never exchanged. What counts is the session.
      code_challenge: randomBytes(32).toString('base64url'),
      code_challenge_method: 'S256',
    }).toString();
    redirect(response, url.href);
  }

  async function tokenOf({ person, signedInAt, acr, amr }: SignedIn): Promise<string> {
    const client = await provider.Client.find(APPROVAL_CLIENT);
    if (client === undefined) throw new TypeError('the client of approvals is not registered');
    const scope = scopes.freshEnough(clock() / 1000 - signedInAt);
    const audience = String(settings.route.audiences[0]);
    const resourceServer = new provider.ResourceServer(audience, {
      audience,
      scope,
      accessTokenFormat: frontDoor.tokens.format,
      ...(frontDoor.tokens.format === 'jwt' && { jwt: { sign: { alg: 'ES256' } } }),
    });
    const token = new provider.AccessToken({
      accountId: person.subject,
      client,
      expiresWithSession: false,
      expiresIn: TOKEN_SECONDS,
      gty: 'approval',
      resourceServer,
      scope,
    } as unknown as ConstructorParameters<typeof provider.AccessToken>[0]);
    signInOf.set(token, { acr, amr, authTime: signedInAt });
    return token.save();
  }

  async function ask(token: string, id: string, decision?: object): Promise<{ status: number; body: unknown }> {
    const authorization = `Bearer ${token}`;
    const content =
      decision === undefined
        ? { headers: { authorization } }
        : {
            method: 'POST' as const,
            headers: { authorization, 'content-type': 'application/json' },
            body: JSON.stringify(decision),
          };
    try {
      const bounds = { timeoutMs: TIMEOUT_MS, maxBytes: MAX_BYTES };
      const { status, text } = await fetcher.fetchJson(`${settings.backchannel}/${id}`, { ...bounds, ...content });
      return { status, body: text === '' ? undefined : parseToRewrite(text) };
    } catch {
      return { status: 503, body: undefined };
    }
  }

  function viewerOf({ person }: SignedIn): Pick<ApprovalPageView, 'signedInAs' | 'signOutUrl'> {
    return { signedInAs: person.label ?? person.subject, signOutUrl: prefix + routes.end_session };
  }

  function formTokenOf(session: string, id: string): string {
    return createHmac('sha256', key).update(`approval ${session} ${id}`).digest('base64url');
  }

  async function viewOf(found: ApiObject, who: SignedIn, id: string, hindrance?: string): Promise<ApprovalPageView> {
    const { status, created_at, expires_at, digest, call, caller, because } = found;
    const asking =
      caller.issuer === issuer && caller.subject !== undefined ? await people.find(caller.subject) : undefined;
    const client = caller.client === undefined ? undefined : await provider.Client.find(caller.client);
    return {
      status,
      createdAt: Date.parse(created_at),
      expiresAt: Date.parse(expires_at),
      digest,
      call,
      caller: { subject: caller.subject ?? caller.issuer, label: asking?.label },
      client: {
        name: client?.clientName ?? caller.client ?? '',
        isVerified: client !== undefined && isRegistered(client),
      },
      because,
      ...viewerOf(who),
      hindrance,
      formToken: formTokenOf(who.session, id),
      now: clock(),
    };
  }

  async function show(
    response: ServerResponse,
    found: { readonly status: number; readonly body: unknown },
    { who, id, hindrance }: { readonly who: SignedIn; readonly id: string; readonly hindrance?: string },
  ): Promise<void> {
    const say = texts.approval;
    const viewer = viewerOf(who);
    if (found.status === 404) return sendPage(response, 404, approvalNotice(say.unknown, say.unknownNote, viewer));
    if (found.status !== 200)
      return sendPage(response, 503, approvalNotice(say.unavailable, say.unavailableNote, viewer));
    if (isApiObject(found.body))
      return sendPage(
        response,
        hindrance === undefined ? 200 : 409,
        approvalPage(await viewOf(found.body, who, id, hindrance)),
      );
    // The caller sees no more of a request than its state.
    const status = isObject(found.body) ? String(found.body['status']) : '';
    sendPage(response, 403, approvalNotice(say.own, status === 'pending' ? say.ownNote : say.status(status), viewer));
  }

  return async (request, response, id, query) => {
    if (id === '') {
      const state = query.get('state') ?? '';
      if (!isId(state)) throw new errors.SessionNotFound('no request is named');
      return redirect(response, `${issuer}/approval/${state}`);
    }
    const who = await signedIn(request, response);
    if (request.method === 'POST') {
      requireSameOrigin(request, origin);
      const form = await readForm(request);
      if (who === undefined) throw new errors.SessionNotFound('not signed in');
      if (!isSameSecret(form.get('token') ?? '', formTokenOf(who.session, id)))
        throw new errors.InvalidRequest(texts.failed.crossSite);
      const token = await tokenOf(who);
      const decision = form.get('decision') === 'approve' ? 'approve' : 'deny';
      const decided = await ask(token, id, { decision, digest: form.get('digest') });
      if (decided.status === 200 || decided.status >= 500) return show(response, decided, { who, id });
      return show(response, await ask(token, id), { who, id, hindrance: texts.approval.late });
    }
    if (who === undefined) return sendToSignIn(response, id);
    return show(response, await ask(await tokenOf(who), id), { who, id });
  };
}

interface ApiObject {
  readonly status: string;
  readonly created_at: string;
  readonly expires_at: string;
  readonly digest: string;
  readonly call: ApprovalPageView['call'];
  readonly caller: { readonly issuer: string; readonly subject?: string; readonly client?: string };
  readonly because?: string;
}

function isApiObject(body: unknown): body is ApiObject {
  return isObject(body) && isObject(body['call']) && isObject(body['caller']);
}

function isId(text: string): boolean {
  return /^[\w-]{1,64}$/.test(text);
}
