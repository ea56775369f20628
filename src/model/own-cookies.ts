/** The name of the cookie of an operator's session. It is for the admin listener alone. */
export const ADMIN_COOKIE = 'sallyport_admin';

/** What the name of every cookie of ours contains. */
export const OWN_COOKIE = 'sallyport_';

/**
 * The cookies that an upstream neither gets nor sets. Browsers send a cookie to every port and path of a host: an
 * upstream could use an operator's session for the console, or a person's session at the front door. With a cookie of
 * such a name, it could sign a person in as another person. `admin`: the front door itself has the others.
 */
export const ownCookies = {
  admin: /^(?:__(?:Host|Secure)-)?sallyport_admin$/i,
  all: /^(?:__(?:Host|Secure)-)?sallyport_/i,
} as const;
