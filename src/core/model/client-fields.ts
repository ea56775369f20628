/**
 * Fields that a client must not send to an upstream: its credential, its address, its certificate, or another method or
 * path. Proxies and servers trust these fields, so only the gateway may set them. The list has the fields that the
 * documentation of well-known frontends tells servers to trust.
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
  // A proof is for the gateway only, RFC 9449 §4.3: its `htu` is the URL of the gateway.
  'dpop',
  'expect',
  'fastly-ssl',
  'fly-client-ip',
  'forwarded',
  'front-end-https',
  'host',
  'http2-settings',
  'incap-client-ip',
  'proxy-client-ip',
  'true-client-ip',
  'x-accel-mapping',
  'x-amzn-lambda-context',
  'x-amzn-request-context',
  'x-client-ip',
  'x-cluster-client-ip',
  'x-forward-for',
  'x-forwarded',
  'x-host',
  'x-nf-client-connection-ip',
  'x-proxyuser-ip',
  'x-request-id',
  'x-scheme',
  'x-sendfile-type',
  'x-url-scheme',
  'x-vercel-forwarded-for',
  'x-waws-unencoded-url',
]);

const prefixesNeverFromClients = [
  'cf-client-cert',
  'cf-connecting-',
  'cf-pseudo-',
  'cloudfront-viewer-address',
  'cloudfront-viewer-cert',
  'cloudfront-viewer-tls',
  'fastly-client',
  'l5d-',
  'remote-',
  'wl-proxy-',
  'x-amzn-tls-',
  'x-apigateway-',
  'x-appengine-',
  'x-arr-',
  'x-azure-',
  'x-envoy-',
  'x-forwarded-',
  'x-http-',
  'x-original-',
  'x-originating-',
  'x-override-',
  'x-real-',
  'x-remote-',
  'x-tls-',
];

/**
 * Fields by which servers learn of a user, a certificate or a check that was done. A proxy that asks about a request
 * has set none of them yet.
 */
const trustedFields: ReadonlySet<string> = new Set([
  // CGI makes it HTTP_PROXY, which HTTP clients use (CVE-2016-5385).
  'proxy',
  'x-client-dn',
  'x-client-s-dn',
  'x-client-verify',
  // Next.js treats the request as an internal one, and skips authorization (CVE-2025-29927).
  'x-middleware-subrequest',
  // Cloud Run prefers it to Authorization.
  'x-serverless-authorization',
]);

const trustedPrefixes = [
  // WebSphere: $WSRU is the user, $WSCC the certificate.
  '-ws',
  // Kubernetes: with the gateway's credential, a client could impersonate any user.
  'impersonate-',
  'ssl-',
  'wl-proxy-client-cert',
  'x-amzn-mtls-',
  'x-client-cert',
  'x-client-ssl-',
  'x-forwarded-access-token',
  'x-forwarded-client-cert',
  'x-forwarded-email',
  'x-forwarded-groups',
  'x-forwarded-preferred-username',
  'x-forwarded-tls-client-cert',
  'x-forwarded-user',
  'x-mtls-',
  'x-remote-extra-',
  'x-ssl-',
];

/** Fields that name the user. A client must not send them, but an identity header of a route may use them. */
const identityFields: ReadonlySet<string> = new Set([
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

const identityPrefixes = [
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

/** Fields by which some servers replace the method or path. Proxies do not set these themselves. */
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
 * A lower-case field name as CGI-like servers read it: they treat `-` and `_` alike, some of them every character that
 * is no letter or digit.
 */
export function plainFieldName(name: string): string {
  return name.replaceAll(/[^a-z0-9]/g, '-');
}

/** Whether a field, by its {@link plainFieldName}, is one that a client must not send to an upstream. */
export function isNeverFromClients(plain: string): boolean {
  return (
    neverFromClients.has(plain) ||
    otherTarget.has(plain) ||
    prefixesNeverFromClients.some((prefix) => plain.startsWith(prefix)) ||
    isTrusted(plain)
  );
}

/** Whether servers learn of a user, a certificate or a check from a field, by its {@link plainFieldName}. */
export function isTrusted(plain: string): boolean {
  return namesUser(plain) || trustedFields.has(plain) || trustedPrefixes.some((prefix) => plain.startsWith(prefix));
}

/** Whether a field, by its {@link plainFieldName}, conventionally names the user, as `X-Remote-User` does. */
export function namesUser(plain: string): boolean {
  return identityFields.has(plain) || identityPrefixes.some((prefix) => plain.startsWith(prefix));
}

/** Whether some servers take another method or path from a field, by its {@link plainFieldName}. */
export function namesOtherTarget(plain: string): boolean {
  return otherTarget.has(plain);
}

/**
 * Whether a field is another spelling (`content_type`) of one that the gateway reads. Some upstreams treat both alike.
 */
export function isRespelled(name: string, plain: string): boolean {
  return plain !== name && (plain.startsWith('content-') || plain.startsWith('mcp-'));
}
