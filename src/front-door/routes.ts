/** The endpoints, below the issuer. */
export const routes = {
  authorization: '/authorize',
  token: '/token',
  registration: '/register',
  introspection: '/introspect',
  revocation: '/revoke',
  jwks: '/jwks',
  end_session: '/sign-out',
} as const;
