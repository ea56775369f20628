import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { identityNames } from '../../../../src/core/gateway/forward/identity-headers.ts';
import { createRequestHeaders, createUpstreamPath } from '../../../../src/core/gateway/forward/upstream-request.ts';
import { readFields } from '../../../../src/core/gateway/listen/call.ts';
import type { Call } from '../../../../src/core/model/call.ts';
import { Denial } from '../../../../src/core/model/denial.ts';
import type { Grant, UpstreamCredential } from '../../../../src/core/model/grant.ts';
import type { Route } from '../../../../src/core/model/route.ts';
import { property } from '../../../support/property.ts';
import { words } from '../../../support/words.ts';

const ours = new Set(['x-forwarded-for', 'x-forwarded-proto', 'x-forwarded-host', 'x-request-id']);

interface Sent {
  readonly identity?: Record<string, string>;
  readonly claims?: Record<string, unknown>;
  readonly clientId?: string;
  readonly credential?: string;
  readonly isFrontDoor?: boolean;
}

/** What the upstream gets, as `name: value` lines. */
function sent(
  raw: readonly string[],
  { identity = {}, claims, clientId, credential, isFrontDoor = false }: Sent = {},
): string[] {
  const route = {
    isFrontDoor,
    upstream: { identity: new Map(Object.entries(identity)), statements: [] },
  } as unknown as Route;
  const call = { id: 'id-1', forwardedFor: '192.0.2.1', fields: readFields(['Host', 'h', ...raw]) } as Call;
  const principal = claims && { claims, clientId };
  const build = createRequestHeaders(route, 'https://gateway.test:8443', identityNames([route]));
  const fields = build({
    call,
    grant: { principal, action: {} } as Grant,
    credential: credential as UpstreamCredential,
  });
  return Array.from({ length: fields.length / 2 }, (_, i) => `${fields[2 * i]}: ${fields[2 * i + 1]}`);
}

/** Of the client's own fields, those that go on. */
function passed(...raw: string[]): string[] {
  return sent(raw, { identity: { 'x-auth-subject': 'sub' } }).filter((line) => !ours.has(line.split(':')[0] ?? ''));
}

test('adds the fields of the gateway, from the peer and public_url', () => {
  expect(sent([])).toEqual([
    'x-forwarded-for: 192.0.2.1',
    'x-forwarded-proto: https',
    'x-forwarded-host: gateway.test:8443',
    'x-request-id: id-1',
  ]);
});

test('what is for the upstream goes on as it came: order, case, repetition, octets', () => {
  const raw = ['Accept', 'a', 'cookie', 'a=1', 'X-Thing', '\u00e9\t"', 'Cookie', 'b=2', 'Content-Length', '3'];
  const lines = Array.from({ length: raw.length / 2 }, (_, i) => `${raw[2 * i]}: ${raw[2 * i + 1]}`);
  expect(passed(...raw)).toEqual(lines);
});

test.each([
  [false, 'a=1; b=sallyport_session', undefined],
  [true, 'a=1; __Host-sallyport_session=s; sallyport_resume=r; b=sallyport_session', undefined],
  [true, 'sallyport_sign_in_0a=s', 'sallyport_admin=o'],
])(
  'of our own cookies, a route gets only those of the front door, if it leads there (%s)',
  (isFrontDoor, all, more) => {
    const own = `a=1; __Host-sallyport_session=s; sallyport_resume=r; b=sallyport_session`;
    const cookies = isFrontDoor ? [all, more].filter((text) => text !== undefined).join('; ') : own;
    const [line] = sent(['cookie', cookies], { isFrontDoor });
    expect(line).toBe(`cookie: ${all}`);
  },
);

test('only the front door gets the credential and the proof of its client', () => {
  const credential = ['Authorization', 'Basic Y2xpZW50', 'DPoP', 'proof'];
  const raw = [...credential, 'X-Forwarded-User', 'root', 'X_DPoP', 'x', 'D_POP', 'y'];
  const [first, second, third, fourth, ...own] = sent(raw, { isFrontDoor: true });
  expect([first, second]).toEqual(['Authorization: Basic Y2xpZW50', 'DPoP: proof']);
  expect([third, fourth]).toEqual(['X_DPoP: x', 'D_POP: y']);
  expect(own).toEqual(sent([]));
  expect(sent(raw)).toEqual(['X_DPoP: x', 'D_POP: y', ...sent([])]);
});

/** What well-known frontends tell the servers behind them, which believe it. */
const frontends: Readonly<Record<string, readonly string[]>> = {
  'Apache httpd': ['SSL_CLIENT_CERT', 'SSL_CLIENT_S_DN', 'SSL_CLIENT_VERIFY', 'SSL_PROTOCOL', 'Remote-User'],
  'Apache mod_auth_openidc': ['OIDC_CLAIM_sub', 'OIDC_CLAIM_email', 'OIDC_access_token'],
  'Apache Shibboleth': ['Shib-Session-ID', 'Shib-Identity-Provider'],
  APISIX: ['X-Userinfo', 'X-ID-Token', 'X-Consumer-Username', 'X-Credential-Identifier'],
  Authelia: ['Remote-User', 'Remote-Groups', 'Remote-Name', 'Remote-Email'],
  authentik: ['X-authentik-username', 'X-authentik-groups', 'X-authentik-jwt', 'X-authentik-meta-app'],
  'AWS API Gateway and Lambda': ['X-Apigateway-Event', 'X-Apigateway-Context', 'X-Amzn-Request-Context'],
  'AWS CloudFront': ['CloudFront-Viewer-Address', 'CloudFront-Viewer-Cert-Pem', 'CloudFront-Forwarded-Proto'],
  'AWS load balancers': words(`
    X-Amzn-Mtls-Clientcert X-Amzn-Mtls-Clientcert-Leaf X-Amzn-Mtls-Clientcert-Subject X-Amzn-Tls-Version
    X-Amzn-Oidc-Data X-Amzn-Oidc-Identity X-Amzn-Oidc-Accesstoken`),
  'Azure App Service': words(`
    X-MS-Client-Principal X-MS-Client-Principal-Id X-MS-Client-Principal-Name X-MS-Client-Principal-Idp
    X-MS-Token-AAD-Access-Token X-ARR-ClientCert X-ARR-SSL Disguised-Host X-WAWS-Unencoded-URL`),
  'Azure Front Door': ['X-Azure-ClientIP', 'X-Azure-SocketIP', 'X-Azure-FDID'],
  CGI: ['Proxy'],
  Cloudflare: words(`
    CF-Connecting-IP CF-Connecting-IPv6 CF-Pseudo-IPv4 Cf-Access-Authenticated-User-Email
    Cf-Access-Jwt-Assertion Cf-Client-Cert-Der-Base64`),
  'DigitalOcean, Fly, Netlify, Vercel': words(
    'DO-Connecting-IP Fly-Client-IP X-NF-Client-Connection-IP X-Vercel-Forwarded-For',
  ),
  Envoy: ['X-Envoy-External-Address', 'X-Forwarded-Client-Cert', 'X-Envoy-Original-Path'],
  Fastly: ['Fastly-Client-IP', 'Fastly-SSL', 'Fastly-Client'],
  'Google Cloud': words(`
    X-Goog-IAP-JWT-Assertion X-Goog-Authenticated-User-Email X-Goog-Authenticated-User-ID X-Client-Cert-Present
    X-Client-Cert-Chain-Verified X-Client-Cert-Subject-DN X-Client-Cert-Leaf X-Endpoint-API-UserInfo
    X-Apigateway-Api-Userinfo X-Appengine-User-Email X-Serverless-Authorization`),
  Grafana: ['X-WEBAUTH-USER', 'X-WEBAUTH-EMAIL'],
  HAProxy: ['X-SSL-Client-CN', 'X-SSL-Client-Verify', 'X-SSL-Client-DN', 'X-Client-S-DN', 'X-Client-Cert'],
  'IBM WebSphere, WebSEAL': ['$WSRU', '$WSCC', '$WSRA', 'IV-User', 'IV-Groups', 'IV-Creds'],
  Kong: words('X-Consumer-ID X-Consumer-Custom-ID X-Authenticated-Userid X-Authenticated-Scope X-Anonymous-Consumer'),
  Kubernetes: ['Impersonate-User', 'Impersonate-Group', 'Impersonate-Extra-scopes', 'X-Remote-User', 'X-Remote-Group'],
  Linkerd: ['l5d-client-id', 'l5d-dst-override'],
  'Next.js': ['X-Middleware-Subrequest'],
  'nginx and its ingress': words(`
    SSL-Client-Cert SSL-Client-Verify SSL-Client-Subject-DN SSL-Client-Issuer-DN X-Client-Verify X-Client-DN
    X-Real-IP X-Original-URL X-Accel-Mapping X-Sendfile-Type`),
  'oauth2-proxy': ['X-Auth-Request-User', 'X-Auth-Request-Email', 'X-Auth-Request-Groups', 'X-Forwarded-Access-Token'],
  'Oracle WebLogic, OAM': words('WL-Proxy-Client-IP WL-Proxy-Client-Cert WL-Proxy-SSL OAM_REMOTE_USER Proxy-Client-IP'),
  Pomerium: ['X-Pomerium-Jwt-Assertion', 'X-Pomerium-Claim-Email'],
  'Replit, Sandstorm': ['X-Replit-User-Name', 'X-Sandstorm-User-Id'],
  'RFC 9440': ['Client-Cert', 'Client-Cert-Chain'],
  SiteMinder: ['SM_USER'],
  Tailscale: ['Tailscale-User-Login', 'Tailscale-User-Name'],
  Traefik: ['X-Forwarded-Tls-Client-Cert', 'X-Forwarded-Tls-Client-Cert-Info', 'X-Forwarded-User'],
  Vouch: ['X-Vouch-User', 'X-Vouch-Idp-Claims-Email'],
  WSO2: ['X-JWT-Assertion'],
};

describe('what a client must not say', () => {
  test.each(
    words(`
    Authorization Proxy-Authorization Proxy-Authenticate Proxy-Connection Keep-Alive TE Trailer Upgrade
    HTTP2-Settings X-Request-Id Forwarded X-Forwarded-For X-Forwarded-Host X-Forwarded X-Forwarded-Proto
    X-Forwarded-Port X-Forwarded-Prefix X-FORWARDED-USER X-Client-IP X-Cluster-Client-IP Cluster-Client-IP
    X-Forward-For X-Host X-Override-Url X-Scheme X-Script-Name True-Client-IP Client-IP X-Original-Host
    X-Rewrite-URL X-HTTP-Method-Override X-HTTP-Method X-Method-Override X-Auth-Subject x-auth-subject
    X_Auth_Subject x-auth_subject X.Auth.Subject x!auth~subject X_Forwarded_For x_real_ip Transfer_Encoding
    Content_Length Content_Type Mcp_Session_Id Mcp.Name`),
  )('%s', (name) => expect(passed(name, 'mallory', 'x-kept', '1')).toEqual(['x-kept: 1']));

  test.each(Object.entries(frontends))('what %s says of the caller', (_frontend, names) => {
    const lines = names.flatMap((name) => [name, name.toUpperCase(), name.replaceAll('-', '_')]);
    expect(passed(...lines.flatMap((name) => [name, 'mallory']), 'x-kept', '1')).toEqual(['x-kept: 1']);
  });

  test.each(['Expect', 'Transfer-Encoding', 'Connection'])('%s, valid though it was', (name) => {
    const value = { Expect: '100-continue', 'Transfer-Encoding': 'chunked', Connection: 'close' }[name] ?? '';
    expect(passed(name, value)).toEqual([]);
  });

  test('what Connection nominates', () => {
    expect(passed('Connection', 'X-Hop,\tx-other', 'X-HOP', '1', 'x-other', '2', 'x-kept', '3')).toEqual(['x-kept: 3']);
    expect(passed('Connection', 'keep-alive', 'keep-alive', 'timeout=5', 'x', '1')).toEqual(['x: 1']);
  });
});

describe('identity', () => {
  const subject = { identity: { 'x-auth-subject': 'sub' }, claims: { sub: 'alice' } };

  test('a claim', () => expect(sent([], subject)).toContain('x-auth-subject: alice'));

  test('arrives although Connection nominates it, once', () => {
    const lines = sent(['Connection', 'close, x-auth-subject, x-forwarded-for', 'X-Auth-Subject', 'mallory'], subject);
    expect(lines.filter((line) => /subject/i.test(line))).toEqual(['x-auth-subject: alice']);
    expect(lines).toContain('x-forwarded-for: 192.0.2.1');
  });

  test.each([
    ['absent', {}],
    ['null', { sub: null }],
    ['inherited', Object.create({ sub: 'x' }) as Record<string, unknown>],
  ])('%s: nothing of ours, and nothing of the client either', (_what, claims) => {
    const lines = sent(['X-Auth-Subject', 'mallory', 'x_auth_subject', 'mallory'], { ...subject, claims });
    expect(lines.filter((line) => /subject/i.test(line))).toEqual([]);
  });

  test.each(['x_user', 'x-user', 'X-User', 'x.user'])(
    'a header that is configured with an underscore: not %s from a client',
    (name) => {
      const lines = sent([name, 'mallory'], { identity: { x_user: 'sub' }, claims: { sub: 'alice' } });
      expect(lines.filter((line) => /user/i.test(line))).toEqual(['x_user: alice']);
    },
  );

  test('client_id may come from azp', () => {
    const lines = sent([], { identity: { 'x-client': 'client_id' }, claims: { azp: 'app' }, clientId: 'app' });
    expect(lines).toContain('x-client: app');
  });

  test('reads a claim within a claim by a JSON Pointer: the actor, RFC 8693 §4.1', () => {
    const identity = { 'x-actor': '/act/sub' };
    expect(sent([], { identity, claims: { act: { sub: 'gateway' } } })).toContain('x-actor: gateway');
    for (const claims of [{}, { act: 'gateway' }, { act: {} }, { '/act/sub': 'mallory' }]) {
      const lines = sent(['X-Actor', 'mallory'], { identity, claims });
      expect(lines.filter((line) => /actor/i.test(line))).toEqual([]);
    }
  });

  test('an own claim of that name only', () => {
    expect(sent([], { identity: { 'x-p': '__proto__', 'x-c': 'constructor' }, claims: {} })).toHaveLength(4);
  });

  test('the credential', () => expect(sent([], { credential: 'Bearer new' })).toContain('authorization: Bearer new'));
});

/** What the upstream is told of a claim. */
const valueOf = (claim: unknown): string | undefined =>
  sent([], { identity: { 'x-c': 'c' }, claims: { c: claim } })
    .find((line) => line.startsWith('x-c: '))
    ?.slice('x-c: '.length);

describe('a claim as a field value', () => {
  test.each([
    ['plain', 'plain'],
    ['with space', 'with space'],
    [' edges ', '%20edges%20'],
    [' ', '%20'],
    ['', ''],
    ['100%', '100%25'],
    ['a,b', 'a%2Cb'],
    [['Doe, Jane', 'x'], 'Doe%2C Jane,x'],
    ['x\r\nx-admin: 1', 'x%0D%0Ax-admin: 1'],
    ['tab\there', 'tab%09here'],
    ['\u0000\u007f', '%00%7F'],
    ['Zoë', 'Zo%C3%AB'],
    ['😀', '%F0%9F%98%80'],
    [20, '20'],
    [-1.5, '-1.5'],
    [true, 'true'],
    [false, 'false'],
    [['a', 'b'], 'a,b'],
    [['a,b', 'c'], 'a%2Cb,c'],
    [['%2C', ' x'], '%252C,%20x'],
    [[], ''],
    [[1, false], '1,false'],
  ])('%j → %s', (claim, value) => expect(valueOf(claim)).toBe(value));

  test.each([[{}], [[{}]], [[null]], [[['a']]]])('%j has none', (claim) => {
    expect(() => valueOf(claim)).toThrow(Denial);
  });

  const anyText = fc.string({ unit: 'binary' });

  property(
    'decodes to the claim, and is one line of printable ASCII without a comma',
    [fc.oneof(anyText, fc.string())],
    (claim) => {
      const value = valueOf(claim) ?? '';
      expect(decodeURIComponent(value)).toBe(claim.toWellFormed());
      expect(value).toMatch(/^(?:[!-~](?:[ -~]*[!-~])?)?$/);
      expect(value).not.toContain(',');
    },
    { numRuns: 2000 },
  );

  property(
    'a list decodes to its members, commas and all',
    [fc.array(anyText, { minLength: 1 })],
    (claim) => {
      const members = (valueOf(claim) ?? '').split(',').map((member) => decodeURIComponent(member));
      expect(members).toEqual(claim.map((member) => member.toWellFormed()));
    },
    { numRuns: 1000 },
  );
});

test('however many names callers make up', () => {
  for (let i = 0; i < 3000; i += 1) expect(passed(`x-${i}`, '1', `X_Forwarded_${i}`, '1')).toEqual([`x-${i}: 1`]);
});

test.each([
  ['/api', '/base', '/api', '', '/base'],
  ['/api', '/base', '/api/', '', '/base/'],
  ['/api', '/base', '/api/x/y', '?z=1', '/base/x/y?z=1'],
  ['/api', '', '/api', '', '/'],
  ['/api', '', '/api', '?z', '/?z'],
  ['/api', '', '/api/x', '?', '/x?'],
  ['/', '', '/', '', '/'],
  ['/', '', '/x%20y', '', '/x%20y'],
  ['/', '/base', '/', '', '/base/'],
  ['/', '/base', '/x', '?a="b"', '/base/x?a="b"'],
])('%s on %s: %s%s → %s', (path, base, asked, query, wanted) => {
  expect(createUpstreamPath({ path, upstream: { path: base } } as Route)(asked, query)).toBe(wanted);
});

test.each([
  ['refuse', 'refuse', '/base'],
  ['pass', 'refuse', '/base/admin'],
  ['refuse', 'pass', '/base?confirm=yes'],
] as const)('below: %s, query: %s → %s', (below, query, wanted) => {
  const route = { path: '/mcp', below, query, upstream: { path: '/base' } } as Route;
  expect(createUpstreamPath(route)('/mcp/admin', '?confirm=yes')).toBe(wanted);
});
