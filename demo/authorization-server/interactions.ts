import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';

import { errors, type Interaction, type Provider } from 'oidc-provider';

import { accountOf, accounts } from './accounts.ts';
import { consentPage, errorPage, loginPage } from './pages.ts';
import { passwordAcr } from './clients.ts';
import { sendPage, type Page } from '../../src/front-door/page.ts';
import { knownScopes } from './resources.ts';

/** The path of the login and consent pages; the interaction's id follows. */
export const interactionPath = '/interaction/';

const maxFormBytes = 16_384;

/** Shows the login and the consent page, and forwards the user's decision. */
export type Interactions = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

/** @param highPrivilegeTtl - in seconds, for the consent page. A provider without that page needs none. */
export function createInteractions(provider: Provider, highPrivilegeTtl = 60): Interactions {
  return async (request, response) => {
    try {
      const interaction = await currentInteraction(request, response);
      if (request.method === 'GET') return sendPage(response, 200, await pageFor(interaction));
      if (request.method !== 'POST') return void response.writeHead(405, { allow: 'GET, POST' }).end();
      if (!(Number(request.headers['content-length']) <= maxFormBytes)) return void response.writeHead(413).end();
      await decide(request, response, interaction, new URLSearchParams(await text(request)));
    } catch (error) {
      if (!(error instanceof errors.OIDCProviderError)) throw error;
      sendPage(response, error.status, errorPage(error.error, error.error_description));
    }
  };

  /** The cookie names the interaction, so that no user can be sent to answer another user's; the path must match. */
  async function currentInteraction(request: IncomingMessage, response: ServerResponse): Promise<Interaction> {
    const interaction = await provider.interactionDetails(request, response);
    if (request.url !== `${interactionPath}${interaction.uid}`) throw new errors.SessionNotFound('not this one');
    return interaction;
  }

  async function decide(
    request: IncomingMessage,
    response: ServerResponse,
    interaction: Interaction,
    form: URLSearchParams,
  ): Promise<void> {
    const step = `${interaction.prompt.name} ${form.get('decision')}`;
    switch (step) {
      case 'login sign-in': {
        const name = form.get('username') ?? '';
        const account = accountOf(name);
        if (account?.password !== form.get('password'))
          return sendPage(response, 422, await pageFor(interaction, name));
        const login = { accountId: name, acr: passwordAcr, amr: ['pwd'] };
        return provider.interactionFinished(request, response, { login });
      }
      case 'consent approve':
        return provider.interactionFinished(request, response, { consent: { grantId: await grant(interaction) } });
      default:
        return provider.interactionFinished(request, response, {
          error: 'access_denied',
          error_description: 'the user denied access',
        });
    }
  }

  async function pageFor(interaction: Interaction, failedName?: string): Promise<Page> {
    const { params, prompt, session } = interaction;
    const client = await provider.Client.find(String(params.client_id));
    const clientName = String(client?.clientName ?? params.client_id);
    const returnsTo = String(params.redirect_uri);
    if (prompt.name === 'login') {
      return loginPage({ clientName, returnsTo, accounts, failedName });
    }
    return consentPage({
      clientName,
      returnsTo,
      highPrivilegeTtl,
      userName: session?.accountId ?? '',
      dynamicClient: client?.requires_consent === true,
      resources: requestedResources(interaction),
      scopes: knownScopes(params.scope),
      signOutUrl: provider.pathFor('end_session'),
    });
  }

  /** Stores what the user allowed, in addition to what this client was allowed earlier in the same session. */
  async function grant(interaction: Interaction): Promise<string> {
    const earlier = interaction.grantId === undefined ? undefined : await provider.Grant.find(interaction.grantId);
    const grant =
      earlier ??
      new provider.Grant({
        accountId: interaction.session?.accountId,
        clientId: String(interaction.params.client_id),
      });
    const scopes = knownScopes(interaction.params.scope);
    grant.addOIDCScope(scopes);
    for (const resource of requestedResources(interaction)) grant.addResourceScope(resource, scopes);
    return grant.save();
  }
}

function requestedResources({ params }: Interaction): string[] {
  return [params.resource ?? []].flat().map(String);
}
