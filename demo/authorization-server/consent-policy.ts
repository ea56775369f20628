import { interactionPolicy } from 'oidc-provider';

/**
 * When a person is asked: to sign in without a session; to consent whenever a client's settings require it, even for what
 * was allowed before, and otherwise for what is new.
 */
export function consentPolicy(): interactionPolicy.DefaultPolicy {
  const policy = interactionPolicy.base();
  const consent = policy.get('consent');
  // It would ask for every native client; the client's own setting decides here.
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
