import type { IncomingMessage, ServerResponse } from 'node:http';
import { AuthorizationResponseError } from 'openid-client';
import { errors, type Interaction } from 'oidc-provider';
import type { Clock } from '../core/lib/clock.ts';
import { subjectOf } from '../tokens/front-door-subject.ts';
import { type Identity, type ProviderClient, UnmetAuthentication } from './identity-provider.ts';
import { saveGrant, type InteractionParts, withCause } from './interactions.ts';
import { sendPage, redirect } from './page.ts';
import { goOnPage } from './pages.ts';
import { listedClaims } from '../core/model/recorded-details.ts';
import type { RecordedClaim } from '../core/model/outcome.ts';
import { factsAsAmr, type PendingSignIn } from './sign-ins.ts';

/** The parts of the callback. */
export interface CallbackParts extends Pick<
  InteractionParts,
  'provider' | 'people' | 'scopes' | 'signIns' | 'providers' | 'observer'
> {
  /** The claims of a person that the line of a sign-in has. */
  readonly recorded: readonly RecordedClaim[];
  readonly clock: Clock;
}

/**
 * Whether no page of the provider came between: our own page, which sent the browser on, is still the referrer. Another
 * page has its own origin there, or nothing.
 */
function cameStraight({ headers: { referer } }: IncomingMessage, own: string): boolean {
  return referer === `${own}/`;
}

/**
 * Creates what answers `/callback/PROVIDER`, where a provider sends a person back. The answer is verified before
 * anything is remembered of it.
 */
export function createCallback(
  parts: CallbackParts,
): (request: IncomingMessage, response: ServerResponse, providerName: string, query: URLSearchParams) => Promise<void> {
  const { provider, people, scopes, signIns, providers, observer, recorded, clock } = parts;
  return async (request, response, providerName, query) => {
    const client = providers.get(providerName);
    const [state, second] = query.getAll('state');
    const pending =
      client === undefined || state === undefined || second !== undefined
        ? undefined
        : await signIns.take(request, state, providerName);
    if (client === undefined || pending === undefined) {
      const why = 'no sign-in of this browser waits for this answer';
      observer.signIn(client === undefined ? 'unknown' : providerName, 'refused', { why });
      throw new errors.SessionNotFound(why);
    }
    const interaction = await provider.Interaction.find(pending.interaction);
    if (interaction === undefined) throw new errors.SessionNotFound('the sign-in has expired');
    interaction.result = await resultOf(client, pending, interaction, query);
    await interaction.persist();
    if (cameStraight(request, new URL(provider.issuer).origin)) return redirect(response, interaction.returnTo);
    // Not a redirect, to which the `form-action` of the provider's page would apply: naming our callback is enough.
    sendPage(response, 200, goOnPage(interaction.returnTo));
  };

  async function resultOf(
    client: ProviderClient,
    pending: PendingSignIn,
    interaction: Interaction,
    query: URLSearchParams,
  ): Promise<NonNullable<Interaction['result']>> {
    const { name } = client.settings;
    let identity: Identity;
    try {
      const answer = new URL(client.redirectUri);
      answer.search = query.toString();
      identity = await client.finish(answer, pending);
    } catch (error) {
      const isDenied = error instanceof AuthorizationResponseError && error.error === 'access_denied';
      observer.signIn(name, isDenied ? 'denied' : 'failed', { why: withCause(error) });
      if (error instanceof UnmetAuthentication)
        return { error: 'unmet_authentication_requirements', error_description: error.message };
      return isDenied
        ? { error: 'access_denied', error_description: 'the identity provider denied access' }
        : { error: 'server_error', error_description: 'the sign-in at the identity provider failed' };
    }
    const subject = subjectOf('provider', name, identity.subject);
    const claims = listedClaims(recorded, identity.claims);
    observer.signIn(name, 'ok', { subject, ...(claims !== undefined && { claims }) });
    await people.save({ subject, provider: name, claims: identity.claims, label: identity.label });
    await endSessionOfAnother(interaction, subject);
    return {
      // Without `auth_time` the sign-in may be of any age: 0 never satisfies a scope with `max_age`.
      login: {
        accountId: subject,
        ts: identity.authTime ?? 0,
        ...(identity.acr !== undefined && { acr: identity.acr }),
        amr: factsAsAmr(name, clock(), identity),
      },
      ...(pending.hasConsented && {
        consent: { grantId: await saveGrant(provider, interaction, subject, scopes.known(interaction.params.scope)) },
      }),
    };
  }

  /** Another person signs in: the session of the one before ends, and neither gets what the other allowed. */
  async function endSessionOfAnother(interaction: Interaction, subject: string): Promise<void> {
    const { session } = interaction;
    if (session?.accountId === undefined || session.accountId === subject) return;
    await (await provider.Session.findByUid(session.uid))?.destroy();
    delete interaction.session;
    delete interaction.grantId;
  }
}
