/**
 * What a client must not say to an upstream: its own credential, where it comes from, by which certificate, and that the
 * method or path were others than those decided on. Proxies and servers believe these fields, so that nothing but the
 * gateway may write them. What the documentation of a well-known frontend tells servers to trust is among them.
 */
const neverFromClients: ReadonlySet<string> = new Set([
  'authorization',
  'client-cert',
  'client-cert-chain',
  'client-ip',
  'cloudfront-forwarded-proto',
  'cluster-client-ip',
  'disguised-host',
  'do-connecting-ip',
  // A proof is for us alone, RFC 9449 §4.3: its htu is ours.
  'dpop',
  'expect',
  'fastly-ssl',
  'fly-client-ip',
  'forwarded',
  'front-end-https',
  'host',
  'http2-settings',
  'incap-client-ip',
  // CGI makes it HTTP_PROXY, which HTTP clients obey (CVE-2016-5385).
  'proxy',
  'proxy-client-ip',
  'true-client-ip',
  'x-accel-mapping',
  'x-amzn-lambda-context',
  'x-amzn-request-context',
  'x-client-dn',
  'x-client-ip',
  'x-client-s-dn',
  'x-client-verify',
  'x-cluster-client-ip',
  'x-forward-for',
  'x-forwarded',
  'x-host',
  // Next.js takes it for its own second pass, and skips what authorizes (CVE-2025-29927).
  'x-middleware-subrequest',
  'x-nf-client-connection-ip',
  'x-proxyuser-ip',
  'x-request-id',
  'x-scheme',
  'x-sendfile-type',
  // Cloud Run prefers it to Authorization.
  'x-serverless-authorization',
  'x-url-scheme',
  'x-vercel-forwarded-for',
  'x-waws-unencoded-url',
]);

const prefixesNeverFromClients = [
  // WebSphere: $WSRU is the user, $WSCC the certificate.
  '-ws',
  'cf-client-cert',
  'cf-connecting-',
  'cf-pseudo-',
  'cloudfront-viewer-address',
  'cloudfront-viewer-cert',
  'cloudfront-viewer-tls',
  'fastly-client',
  // Kubernetes: whoever may impersonate does, by the credential that the gateway puts on.
  'impersonate-',
  'l5d-',
  'remote-',
  'ssl-',
  'wl-proxy-',
  'x-amzn-mtls-',
  'x-amzn-tls-',
  'x-apigateway-',
  'x-appengine-',
  'x-arr-',
  'x-azure-',
  'x-client-cert',
  'x-client-ssl-',
  'x-envoy-',
  'x-forwarded-',
  'x-http-',
  'x-mtls-',
  'x-original-',
  'x-originating-',
  'x-override-',
  'x-real-',
  'x-remote-',
  'x-ssl-',
  'x-tls-',
];

/** No more from clients than the others; but they say nothing but who the user is, which is what an identity header is for. */
const sayWho: ReadonlySet<string> = new Set([
  'oam-remote-user',
  'remote-email',
  'remote-groups',
  'remote-name',
  'remote-user',
  'sm-user',
  'x-anonymous-consumer',
  'x-id-token',
  'x-jwt-assertion',
  'x-remote-email',
  'x-remote-group',
  'x-remote-groups',
  'x-remote-name',
  'x-remote-user',
  'x-userinfo',
]);

const prefixesThatSayWho = [
  'cf-access-',
  'iv-',
  'oidc-',
  'shib-',
  'tailscale-',
  'x-amzn-oidc-',
  'x-auth-request-',
  'x-authenticated-',
  'x-authentik-',
  'x-consumer-',
  'x-credential-',
  'x-endpoint-api-',
  'x-goog-authenticated-user-',
  'x-goog-iap-',
  'x-ms-client-principal',
  'x-ms-token-',
  'x-pomerium-',
  'x-replit-user-',
  'x-sandstorm-',
  'x-vouch-',
  'x-webauth-',
];

/** Fields that name another method or path to some servers. A proxy does not set them itself. */
const otherTarget: ReadonlySet<string> = new Set([
  'base-url',
  'x-http-method',
  'x-http-method-override',
  'x-method-override',
  'x-original-url',
  'x-path-info',
  'x-rewrite-url',
  'x-script-name',
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
  return (
    neverFromClients.has(plain) ||
    otherTarget.has(plain) ||
    prefixesNeverFromClients.some((prefix) => plain.startsWith(prefix)) ||
    saysWho(plain)
  );
}

/** Whether a field, by its {@link plainName}, carries a user's name by custom, as `X-Remote-User` does. */
export function saysWho(plain: string): boolean {
  return sayWho.has(plain) || prefixesThatSayWho.some((prefix) => plain.startsWith(prefix));
}

/** Whether a field, by its {@link plainName}, names another method or path than those decided on to some servers. */
export function namesOtherTarget(plain: string): boolean {
  return otherTarget.has(plain);
}

/** Whether a field is another spelling (`content_type`) of one that the gateway reads: a second one to some upstreams. */
export function isRespelled(name: string, plain: string): boolean {
  return plain !== name && (plain.startsWith('content-') || plain.startsWith('mcp-'));
}
