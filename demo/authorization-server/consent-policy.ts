import { interactionPolicy } from 'oidc-provider';

/**
 * Decides when the user is asked: to sign in, if there is no session; to consent, if the client's settings require it,
 * even for scopes that were allowed before, and otherwise for new scopes.
 */
export function consentPolicy(): interactionPolicy.DefaultPolicy {
  const policy = interactionPolicy.base();
  const consent = policy.get('consent');
  // The default check would ask for every native client. The client's own setting decides instead.
  consent?.checks.remove('native_client_prompt');
  consent?.checks.add(
    new interactionPolicy.Check(
      'client_requires_consent',
      'the client requires consent',
      'consent_required',
      ({ oidc }) => oidc.client?.requires_consent === true && !oidc.result?.consent,
    ),
    0,
  );
  return policy;
}
