/**
 * What a client must not say to an upstream: its own credential, where it comes from, and that the method or path were
 * others than those decided on. Proxies and servers believe these fields, so that nothing but the gateway may write them.
 */
const neverFromClients: ReadonlySet<string> = new Set([
  'authorization',
  'cf-connecting-ip',
  'client-cert',
  'client-cert-chain',
  'client-ip',
  // A proof is for us alone, RFC 9449 §4.3: its htu is ours.
  'dpop',
  'expect',
  'forwarded',
  'host',
  'http2-settings',
  'x-client-ip',
  'x-cluster-client-ip',
  'x-forwarded',
  'x-http-method',
  'x-http-method-override',
  'x-method-override',
  'x-real-ip',
  'x-request-id',
  'x-url-scheme',
  'x-script-name',
  'x-scheme',
  'x-proxyuser-ip',
  'x-path-info',
  'x-host',
  'x-forward-for',
  'remote-user',
  'front-end-https',
  'fastly-client-ip',
  'cluster-client-ip',
  'base-url',
  'x-rewrite-url',
  'true-client-ip',
]);

const prefixesNeverFromClients = [
  'x-appengine-',
  'x-azure-',
  'x-envoy-',
  'x-forwarded-',
  'x-http-',
  'x-original-',
  'x-override-',
  'x-remote-',
  'x-ssl-',
];

/** Those among them that say nothing but who the user is, which is what an identity header is for. */
const sayWho: ReadonlySet<string> = new Set([
  'remote-user',
  'x-remote-user',
  'x-remote-group',
  'x-remote-groups',
  'x-remote-name',
  'x-remote-email',
]);

/**
 * A lower-case field name as CGI-like servers read it: they make one variable of `-` and `_`, some of them of whatever
 * is no letter or digit.
 */
export function plainName(name: string): string {
  return name.replaceAll(/[^a-z0-9]/g, '-');
}

/** Whether a field, by its {@link plainName}, is one that a client must not send to an upstream. */
export function isNeverFromClients(plain: string): boolean {
  return neverFromClients.has(plain) || prefixesNeverFromClients.some((prefix) => plain.startsWith(prefix));
}

/** Whether a field, by its {@link plainName}, carries a user's name by custom, as `X-Remote-User` does. */
export function saysWho(plain: string): boolean {
  return sayWho.has(plain);
}
