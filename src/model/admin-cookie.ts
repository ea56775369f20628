/** The cookie of an operator who has signed in to the console. It is for the admin listener alone. */
export const ADMIN_COOKIE = 'sallyport_admin';
