import type { CredentialSource } from '../../model/gate.ts';
import type { OnRoute } from '../../model/on-route.ts';
import type { PresentedToken, UpstreamCredential } from '../../model/grant.ts';
import type { Route } from '../../model/route.ts';

/** The source of the credential for the upstream of a route: a capability's, or a plain one. */
export function credentialSource(route: Route, capabilities: readonly OnRoute[]): CredentialSource {
  return capabilities.find(({ credential }) => credential !== undefined)?.credential ?? plainSource(route);
}

function plainSource({ upstream: { token } }: Route): CredentialSource {
  if (token === 'none') return { obtain: () => undefined };
  if (token === 'forward') return { obtain: (_grant, presented) => ownToken(presented) };
  throw new TypeError(`no capability makes the token ${token}`);
}

function ownToken(token: PresentedToken | undefined): UpstreamCredential {
  if (token === undefined) throw new TypeError('a credential for the upstream needs the token of the caller');
  return `Bearer ${token.value}` as NonNullable<UpstreamCredential>;
}
