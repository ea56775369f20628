import { errors, interactionPolicy } from 'oidc-provider';
import { isRemembered } from './client-facts.ts';
import type { ScopeRules } from './scope-rules.ts';

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
