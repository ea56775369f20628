import { createHmac, randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { errors, type Provider } from 'oidc-provider';
import { createJsonFetcher } from '../tokens/servers/fetch-json.ts';
import { openDirectRequest } from '../ports/own-requests.ts';
import { parseToRewrite } from '../core/lib/json/lossless.ts';
import { isObject } from '../core/lib/json/own-member.ts';
import { isSameSecret } from '../core/lib/digest.ts';
import type { ApprovalSettings } from '../ports/approval-settings.ts';
import { APPROVAL_CLIENT } from './client-policy.ts';
import { isRegistered } from './clients.ts';
import { approvalNotice, approvalPage, type ApprovalPageView, inboxPage, type Viewer } from './approval-page.ts';
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
/** The place of the list, and the state of a sign-in for it: no request has such a short id. */
const INBOX = 'approvals';
/** The longest list on the page. */
const MAX_LISTED = 100;

/**
 * Creates what answers `approval/ID`, the page on which people approve calls, `approvals`, the list of those that they
 * may decide, and `approval`, where a sign-in ends. They sign in at their provider; the gateway judges them by a token
 * as any other client would get it.
 */
export function createApprovalHandler(
  parts: ApprovalPageParts,
): (request: IncomingMessage, response: ServerResponse, place: string, query: URLSearchParams) => Promise<void> {
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

  function sendToSignIn(response: ServerResponse, state: string): void {
    const url = new URL(`${issuer}${routes.authorization}`);
    const anyAge = scopes.freshEnough(Infinity);
    url.search = new URLSearchParams({
      client_id: APPROVAL_CLIENT,
      response_type: 'code',
      redirect_uri: `${issuer}/approval`,
      resource: String(settings.route.audiences[0]),
      scope: anyAge === '' ? scopes.all : anyAge,
      state,
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

  /** @param id Empty: all that the person may decide. */
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
      const url = id === '' ? settings.backchannel : `${settings.backchannel}/${id}`;
      const { status, text } = await fetcher.fetchJson(url, { ...bounds, ...content });
      return { status, body: text === '' ? undefined : parseToRewrite(text) };
    } catch {
      return { status: 503, body: undefined };
    }
  }

  function viewerOf({ person }: SignedIn): Viewer {
    return {
      signedInAs: person.label ?? person.subject,
      signOutUrl: prefix + routes.end_session,
      inboxUrl: `${prefix}/${INBOX}`,
    };
  }

  async function callerOf({ issuer: of, subject }: ApiObject['caller']): Promise<ApprovalPageView['caller']> {
    const person = of === issuer && subject !== undefined ? await people.find(subject) : undefined;
    return { subject: subject ?? of, label: person?.label };
  }

  function formTokenOf(session: string, id: string): string {
    return createHmac('sha256', key).update(`approval ${session} ${id}`).digest('base64url');
  }

  async function viewOf(found: ApiObject, who: SignedIn, id: string, hindrance?: string): Promise<ApprovalPageView> {
    const { status, created_at, expires_at, digest, call, caller, because } = found;
    const client = caller.client === undefined ? undefined : await provider.Client.find(caller.client);
    return {
      status,
      createdAt: Date.parse(created_at),
      expiresAt: Date.parse(expires_at),
      digest,
      call,
      caller: await callerOf(caller),
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

  async function showInbox(response: ServerResponse, who: SignedIn): Promise<void> {
    const { status, body } = await ask(await tokenOf(who), '');
    const viewer = viewerOf(who);
    const say = texts.approval;
    if (status !== 200 || !isObject(body) || !Array.isArray(body['approvals']))
      return sendPage(response, 503, approvalNotice(say.unavailable, say.unavailableNote, viewer));
    const waiting = body['approvals'].filter(isApiObject).filter((each) => each.status === 'pending');
    const entries = await Promise.all(
      fairly(waiting, ({ caller }) => JSON.stringify([caller.issuer, caller.subject ?? caller.client]))
        .slice(0, MAX_LISTED)
        .map(async ({ id, call, caller, ...times }) => ({
          url: `${issuer}/approval/${id}`,
          call,
          caller: await callerOf(caller),
          createdAt: Date.parse(times.created_at),
          expiresAt: Date.parse(times.expires_at),
        })),
    );
    sendPage(response, 200, inboxPage({ ...viewer, entries, count: waiting.length, now: clock() }));
  }

  return async (request, response, place, query) => {
    if (place === 'approval') {
      const state = query.get('state') ?? '';
      if (state === INBOX) return redirect(response, `${issuer}/${INBOX}`);
      if (!isId(state)) throw new errors.SessionNotFound('no request is named');
      return redirect(response, `${issuer}/approval/${state}`);
    }
    const isDecision = place !== INBOX && request.method === 'POST';
    if (isDecision) requireSameOrigin(request, origin);
    // Before the session: a person whose right ended while the form arrived must not decide.
    const form = isDecision ? await readForm(request) : undefined;
    const who = await signedIn(request, response);
    if (place === INBOX) return who === undefined ? sendToSignIn(response, INBOX) : showInbox(response, who);
    const id = place.slice('approval/'.length);
    if (form !== undefined) {
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
  readonly id: string;
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

/** The entries of each owner in turn, so that an owner of many hides none of another. */
function fairly<Entry>(entries: readonly Entry[], ownerOf: (entry: Entry) => string): readonly Entry[] {
  const counts = new Map<string, number>();
  const ranked = entries.map((entry) => {
    const owner = ownerOf(entry);
    const rank = counts.get(owner) ?? 0;
    counts.set(owner, rank + 1);
    return { entry, rank };
  });
  return ranked.toSorted((one, other) => one.rank - other.rank).map(({ entry }) => entry);
}
