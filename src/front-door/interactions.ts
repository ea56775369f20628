import type { IncomingMessage, ServerResponse } from 'node:http';
import { boundedBytes } from '../core/lib/http/bodies.ts';
import { errors, type Grant, type Interaction, type Provider, interactionPolicy } from 'oidc-provider';
import { AuthorizationResponseError, ResponseBodyError } from 'openid-client';
import { printable } from '../core/lib/wording.ts';
import type { IdentityProvider } from '../ports/front-door.ts';
import type { FrontDoorObserver } from './observer.ts';
import type { BrowserBinding } from './browser-binding.ts';
import { APPROVAL_CLIENT } from './client-policy.ts';
import { type ClientFacts, clientFacts, isRemembered } from './clients.ts';
import type { ProviderOfAddress, ProviderClient } from './identity-provider.ts';
import { sendPage } from './page.ts';
import { consentPage, type ConsentView, failedPage, goOnPage } from './pages.ts';
import type { People } from './people.ts';
import type { Resources } from './resources.ts';
import { type ScopeRules, type ShownScope, shownScope } from './scope-rules.ts';
import type { SignIns } from './sign-ins.ts';
import { texts } from './texts.ts';

/** The parts of the pages of a sign-in. */
export interface InteractionParts {
  readonly provider: Provider;
  readonly people: People;
  readonly scopes: ScopeRules;
  readonly resources: Resources;
  readonly browsers: BrowserBinding;
  readonly signIns: SignIns;
  readonly providers: ReadonlyMap<string, ProviderClient>;
  readonly providerOfAddress: ProviderOfAddress;
  readonly observer: FrontDoorObserver;
}

/**
 * Creates what answers `/interaction/UID`: it shows the consent page, and sends the person on to the provider. No
 * person is sent on before consent.
 */
export function createInteractions(
  parts: InteractionParts,
): (request: IncomingMessage, response: ServerResponse, uid: string) => Promise<void> {
  const { provider, people, scopes, resources, browsers, signIns, providers, providerOfAddress, observer } = parts;
  const [only, ...others] = [...providers.values()];

  return async (request, response, uid) => {
    // The cookie names the interaction, so that no person can be sent to answer another person's.
    const interaction = await provider.interactionDetails(request, response);
    if (interaction.uid !== uid || !browsers.isBound(request, uid)) throw new errors.SessionNotFound('not this one');
    const pending = await describe(interaction);
    if (request.method === 'GET') {
      // The person has answered on the page of the code, in this browser.
      if (interaction.deviceCode !== undefined) return goOnWithDevice(response, pending);
      if (pending.isOwn && !needsSignIn(interaction)) return finishAllowed(response, pending);
      const needsAddress = pending.isOwn && pending.own === undefined && others.length > 0;
      if (needsAddress || pending.asked.length > 0 || pending.asksEachTime)
        return sendPage(response, 200, consentPage(viewOf(pending)));
      return sendOn(response, pending, pending.own ?? only, false);
    }
    requireSameOrigin(request, new URL(provider.issuer).origin);
    const form = await readForm(request);
    const decision = form.get('decision');
    observer.consent(decision === 'approve' ? 'approved' : 'denied', {
      client_id: String(interaction.params.client_id),
      scope: pending.requested.join(' '),
      subject: interaction.session?.accountId,
    });
    if (decision !== 'approve') {
      return finish(response, interaction, { error: 'access_denied', error_description: 'the user denied access' });
    }
    if (!needsSignIn(interaction)) return finishAllowed(response, pending);
    const address = form.get('address') ?? undefined;
    const chosen = pending.own ?? (others.length === 0 ? only : byAddress(address));
    if (chosen === undefined) return sendPage(response, 422, consentPage(viewOf(pending, address ?? '')));
    return sendOn(response, pending, chosen, true, address);
  };

  async function goOnWithDevice(response: ServerResponse, pending: Pending): Promise<void> {
    const { interaction } = pending;
    const chosen = pending.own ?? (others.length === 0 ? only : undefined);
    // The page asks for the address, and its answer is observed.
    if (needsSignIn(interaction) && chosen === undefined) return sendPage(response, 200, consentPage(viewOf(pending)));
    observer.consent('approved', {
      client_id: String(interaction.params.client_id),
      scope: pending.requested.join(' '),
      subject: interaction.session?.accountId,
    });
    return needsSignIn(interaction) ? sendOn(response, pending, chosen, true) : finishAllowed(response, pending);
  }

  async function describe(interaction: Interaction): Promise<Pending> {
    const { params, session, grantId } = interaction;
    const client = await provider.Client.find(String(params.client_id));
    if (client === undefined) throw new errors.InvalidClient('client is invalid', 'client not found');
    const person = session?.accountId === undefined ? undefined : await people.find(session.accountId);
    const grant = grantId === undefined ? undefined : await provider.Grant.find(grantId);
    const requested = scopes.known(params.scope);
    const asksEachTime = !isRemembered(client, params.redirect_uri);
    const had = new Set(grant === undefined ? [] : grantedScopes(grant, resourcesOf(interaction)));
    const isOwn = client.clientId === APPROVAL_CLIENT;
    return {
      interaction,
      isOwn,
      facts: clientFacts(client, interaction.deviceCode === undefined ? String(params.redirect_uri) : undefined),
      requested,
      asked: isOwn ? [] : asksEachTime ? requested : requested.filter((scope) => !had.has(scope)),
      allowed: asksEachTime ? [] : requested.filter((scope) => had.has(scope)),
      asksEachTime,
      label: person?.label ?? person?.subject,
      own: person && providers.get(person.provider),
    };
  }

  function viewOf(pending: Pending, unknownAddress?: string): ConsentView {
    const shown = (names: readonly string[]): readonly ShownScope[] => names.map((name) => shownScope(scopes, name));
    return {
      client: pending.facts,
      resources: resourcesOf(pending.interaction),
      mayApprove: resourcesOf(pending.interaction).some((resource) => resources.isForApprovers(resource)),
      asked: shown(pending.asked),
      allowed: shown(pending.allowed),
      signedInAs: pending.label,
      signOutUrl: provider.pathFor('end_session'),
      next: nextOf(pending),
      unknownAddress,
    };
  }

  function nextOf({ interaction, own }: Pending): ConsentView['next'] {
    if (!needsSignIn(interaction)) return { kind: 'none' };
    const known = own ?? (others.length === 0 ? only : undefined);
    return known === undefined ? { kind: 'address' } : { kind: 'provider', host: new URL(known.settings.issuer).host };
  }

  function byAddress(address: string | undefined): ProviderClient | undefined {
    const provider: IdentityProvider | undefined = address === undefined ? undefined : providerOfAddress(address);
    return provider && providers.get(provider.name);
  }

  async function sendOn(
    response: ServerResponse,
    { interaction, requested }: Pending,
    chosen: ProviderClient | undefined,
    hasConsented: boolean,
    loginHint?: string,
  ): Promise<void> {
    if (chosen === undefined) throw new errors.SessionNotFound('the provider is not configured any more');
    const { name: providerName } = chosen.settings;
    const maxAgeSeconds = maxAgeOf(interaction, requested);
    const { acr_values: asked } = interaction.params;
    const acrValues = typeof asked === 'string' && asked !== '' ? asked : undefined;
    const about = { interaction: interaction.uid, provider: providerName, hasConsented, maxAgeSeconds, acrValues };
    // oidc-provider has the time of the system.
    const lifeMs = interaction.exp * 1000 - Date.now();
    const pending = await signIns.begin({ ...about, mustBeNew: isAskedForLogin(interaction) }, lifeMs);
    try {
      const url = await chosen.begin(pending, loginHint);
      sendPage(response, 200, { ...goOnPage(url.href), isReferrer: true });
    } catch (error) {
      await signIns.end(interaction.uid);
      observer.signIn(providerName, 'unavailable', { why: withCause(error) });
      sendPage(response, 503, failedPage(texts.failed.unavailable));
    }
  }

  /** The least of what the scopes and the request ask for. */
  function maxAgeOf({ params }: Interaction, requested: readonly string[]): number | undefined {
    const asked = Number(params.max_age ?? Number.NaN);
    const least = Math.min(scopes.maxAgeSeconds(requested) ?? Infinity, Number.isNaN(asked) ? Infinity : asked);
    return least === Infinity ? undefined : least;
  }

  async function finishAllowed(response: ServerResponse, { interaction, requested }: Pending): Promise<void> {
    const grantId = await saveGrant(provider, interaction, String(interaction.session?.accountId), requested);
    await finish(response, interaction, { consent: { grantId } });
  }

  async function finish(
    response: ServerResponse,
    interaction: Interaction,
    result: NonNullable<Interaction['result']>,
  ): Promise<void> {
    interaction.result = result;
    await interaction.persist();
    await signIns.end(interaction.uid);
    sendPage(response, 200, goOnPage(interaction.returnTo));
  }
}

interface Pending {
  readonly interaction: Interaction;
  /** Whether the page of approvals asks: it is no other party, and needs no consent. */
  readonly isOwn: boolean;
  readonly facts: ClientFacts;
  readonly requested: readonly string[];
  readonly asked: readonly string[];
  readonly allowed: readonly string[];
  readonly asksEachTime: boolean;
  readonly label: string | undefined;
  /** The identity provider that signed the person in. */
  readonly own: ProviderClient | undefined;
}

/** OpenID Connect Core §3.1.2.1. oidc-provider turns `max_age=0` into `prompt=login`. */
function isAskedForLogin({ params }: Interaction): boolean {
  return typeof params.prompt === 'string' && params.prompt.split(' ').includes('login');
}

function needsSignIn({ prompt }: Interaction): boolean {
  return prompt.name === 'login';
}

function resourcesOf({ params }: Interaction): readonly string[] {
  return [params.resource ?? []].flat().map(String);
}

function grantedScopes(grant: Grant, resources: readonly string[]): readonly string[] {
  const [first = [], ...rest] = resources.map((resource) => grant.getResourceScopeEncountered(resource).split(' '));
  return first.filter((scope) => rest.every((other) => other.includes(scope)));
}

/** Saves what the person allowed, in addition to what this client was allowed earlier in the same session. */
export async function saveGrant(
  provider: Provider,
  interaction: Interaction,
  accountId: string,
  scopes: readonly string[],
): Promise<string> {
  const clientId = String(interaction.params.client_id);
  const earlier = interaction.grantId === undefined ? undefined : await provider.Grant.find(interaction.grantId);
  const isSame = earlier?.accountId === accountId && earlier.clientId === clientId;
  const grant = isSame && earlier !== undefined ? earlier : new provider.Grant({ accountId, clientId });
  grant.addOIDCScope(['openid', ...scopes].join(' '));
  for (const resource of resourcesOf(interaction)) grant.addResourceScope(resource, scopes.join(' '));
  return grant.save();
}

/**
 * Refuses a form of another site. The cookie is not sent with one (SameSite), and its address holds a secret; browsers
 * say so a third time.
 */
export function requireSameOrigin({ headers }: IncomingMessage, own: string): void {
  const { origin = own, 'sec-fetch-site': site = 'same-origin' } = headers;
  if (origin !== own || site !== 'same-origin') throw new errors.InvalidRequest(texts.failed.crossSite);
}

const MAX_FORM_BYTES = 16_384;

/** Reads a form. Throws for a longer one, for one of unknown length, and for another type of body. */
export async function readForm(request: IncomingMessage): Promise<URLSearchParams> {
  const { 'content-type': type, 'content-length': length } = request.headers;
  if (type?.split(';')[0] !== 'application/x-www-form-urlencoded') throw new errors.InvalidRequest('not a form');
  if (!(Number(length) <= MAX_FORM_BYTES)) throw new errors.InvalidRequest('the form is too long', 413);
  const tooLong = (): Error => new errors.InvalidRequest('the form is too long', 413);
  return new URLSearchParams((await boundedBytes(request, MAX_FORM_BYTES, tooLong)).toString());
}

/** The longest text of a provider in the log. */
const MAX_PROVIDER_TEXT = 200;

/** An error and its cause in one line, for the log, with what a provider says of it (RFC 6749 §4.1.2.1 and §5.2). */
export function withCause(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof ResponseBodyError || error instanceof AuthorizationResponseError) {
    const { error: code, error_description: description } = error;
    return [error.message, shown(code), ...(description === undefined ? [] : [shown(description)])].join(': ');
  }
  const { cause } = error;
  return cause instanceof Error ? `${error.message}: ${cause.message}` : error.message;
}

/** A text of a provider, or of a person who changed its answer, cut, and without characters that a terminal obeys. */
function shown(text: string): string {
  const cut = text.length > MAX_PROVIDER_TEXT ? `${text.slice(0, MAX_PROVIDER_TEXT)}…` : text;
  return `"${printable(cut)}"`;
}

/**
 * Decides when people are asked. To sign in: if there is no session, or if it is too old for a scope that is asked for.
 * To consent: for every scope that they have not allowed this client yet, and each time if the client cannot be
 * recognized.
 */
export function createConsentPolicy(scopes: ScopeRules): interactionPolicy.DefaultPolicy {
  const policy = interactionPolicy.base();
  policy.get('login')?.checks.add(
    new interactionPolicy.Check('no_scope', 'no scope is asked for', ({ oidc }) => {
      const { scope } = oidc.params ?? {};
      if (scopes.known(scope).length > 0) return false;
      throw new errors.InvalidScope(
        'no scope of this authorization server is asked for',
        typeof scope === 'string' ? scope : '',
      );
    }),
    0,
  );
  policy.get('login')?.checks.add(
    new interactionPolicy.Check('scope_max_age', 'a scope needs a recent sign-in', 'login_required', ({ oidc }) => {
      const maxAge = scopes.maxAgeSeconds(oidc.requestParamScopes);
      if (maxAge === undefined || oidc.session?.accountId === undefined) return false;
      return oidc.session.past(maxAge) && oidc.result?.login === undefined;
    }),
  );
  policy.get('login')?.checks.add(
    new interactionPolicy.Check('acr', 'another way of signing in is asked for', 'login_required', ({ oidc }) => {
      const { acr_values: asked } = oidc.params ?? {};
      if (typeof asked !== 'string' || asked === '' || oidc.session?.accountId === undefined) return false;
      return !asked.split(' ').includes(oidc.session.acr ?? '') && oidc.result?.login === undefined;
    }),
  );
  const consent = policy.get('consent');
  consent?.checks.remove('native_client_prompt');
  consent?.checks.add(
    new interactionPolicy.Check(
      'not_remembered',
      'the client is asked about each time',
      'consent_required',
      ({ oidc }) => oidc.result?.consent === undefined && !isRemembered(oidc.client, oidc.params?.['redirect_uri']),
    ),
    0,
  );
  return policy;
}
