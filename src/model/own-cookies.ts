/** The name of the cookie of an operator's session. It is for the admin listener alone. */
export const ADMIN_COOKIE = 'sallyport_admin';

/** What the name of every cookie of ours contains. */
export const OWN_COOKIE = 'sallyport_';

/**
 * The cookies that an upstream never gets. Browsers send a cookie to every port and path of a host: an upstream could
 * use an operator's session for the console, or a person's session at the front door.
 */
export const ownCookies = {
  admin: /^sallyport_admin$/,
  all: /^(?:__Host-)?sallyport_/,
} as const;
