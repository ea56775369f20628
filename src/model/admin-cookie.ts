/** The name of the cookie of an operator's session. It is for the admin listener alone. */
export const ADMIN_COOKIE = 'sallyport_admin';
