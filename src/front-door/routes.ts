/** The endpoints, below the issuer. */
export const routes = {
  authorization: '/authorize',
  token: '/token',
  registration: '/register',
  introspection: '/introspect',
  revocation: '/revoke',
  jwks: '/jwks',
  end_session: '/sign-out',
  device_authorization: '/device/authorization',
  code_verification: '/device',
} as const;

const wellKnown: ReadonlySet<string> = new Set([
  '/.well-known/oauth-authorization-server',
  '/.well-known/openid-configuration',
]);
const endpoints: ReadonlySet<string> = new Set([
  ...Object.values(routes),
  `${routes.end_session}/confirm`,
  `${routes.end_session}/success`,
]);

/** Whether a path below the issuer is one of the metadata documents. */
export function isWellKnown(path: string): boolean {
  return wellKnown.has(path);
}

/**
 * Whether a path below the issuer leads to oidc-provider, which also continues an interaction at `/authorize/UID` and
 * `/device/UID`.
 */
export function isEndpoint(path: string): boolean {
  return endpoints.has(path) || wellKnown.has(path) || /^\/(?:authorize|device)\/[\w-]+$/.test(path);
}
