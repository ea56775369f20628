import { describe, expect, test } from 'vitest';
import { noJwt, refused, refuses, route, upstream } from './edits.ts';
import { edited } from './folder.ts';

const commands =
  'alt-svc, clear-site-data, x-accel-charset, x-accel-limit-rate, x-accel-redirect, x-lighttpd-send-file, ' +
  'x-litespeed-location, x-reproxy-file, x-reproxy-url, x-sendfile, x-sendfile2';

describe('upstreams', () => {
  refuses(`
no url & upstream timeouts: {} → :12:7: routes[0].upstream: missing key: url
url ftp://x → :12:12: routes[0].upstream.url: "ftp://x" is not an http(s) URL
url http://x/?token=hunter2 → :12:12: routes[0].upstream.url: "http://x/?…" has a query or fragment
url http://u:hunter2@x → :12:12: routes[0].upstream.url: "…@x" contains a user or password
url "http:u:hunter2@x" → :12:12: routes[0].upstream.url: "…@x" is not an http(s) URL
url http://u:hunt/er2@x → :12:12: routes[0].upstream.url: "…@x" is not an http(s) URL
upstream token: same → :13:14: routes[0].upstream.token: "same" is not one of none, phantom, exchange, client_credentials, forward
upstream allow_response_headers: [x-powered-by]
  :13:32: routes[0].upstream.allow_response_headers[0]: "x-powered-by" is not one of ${commands}
upstream allow_response_headers: [X-Accel-Redirect]
  :13:32: routes[0].upstream.allow_response_headers[0]: "X-Accel-Redirect" is not one of ${commands}; did you mean x-accel-redirect?
upstream timeouts: { connect: 0s } → :13:28: routes[0].upstream.timeouts.connect: "0s" is too short: at least 1ms
upstream timeouts: { read: 1s } → :13:19: routes[0].upstream.timeouts.read: unknown key; accepted: …
upstream identity: { "x a": sub } → :13:19: routes[0].upstream.identity["x a"]: the key is not a header name
upstream identity: { x-a: "" } → :13:24: routes[0].upstream.identity.x-a: must not be empty
upstream identity: { x-a: /a~2 } → :13:24: routes[0].upstream.identity.x-a: "/a~2" is not a JSON Pointer, RFC 6901 §3
upstream identity: { x-a: sub, X_A: sub } → :13:29: routes[0].upstream.identity.X_A: is the same header as x-a
`);
});

describe('R-162: no token of a client is forwarded to an MCP server', () => {
  refuses(`
route protocol: mcp & upstream token: forward
  :14:14: routes[0].upstream.token: forward cannot be combined with protocol: mcp: the token was issued only for the gateway
`);
});

describe('token: phantom', () => {
  const phantom = upstream('token: phantom');
  const signed = ['client_secret: s3cr3t }', 'client_secret: s3cr3t, response: jwt }'] as const;
  const opaque = route('tokens: [opaque]');

  refuses(`
introspection { client_id: gateway, client_secret: s3cr3t, response: jwt } & upstream token: phantom
  :13:14: routes[0].upstream.token: phantom is only for opaque tokens: set tokens: [opaque] on the route
route tokens: [opaque] & upstream token: phantom
  :14:14: routes[0].upstream.token: phantom needs introspection.response: jwt of main
introspection { client_id: gateway, client_secret: s3cr3t, response: jwt } & servers other: { issuer: "http://127.0.0.1:9001", introspection: { client_id: a, client_secret: b } } & route tokens: [opaque]⏎authorization_servers: [main, other]⏎opaque_tokens: shown_to_all & upstream token: phantom
  :17:14: routes[0].upstream.token: phantom needs introspection.response: jwt of other
no introspection & upstream token: phantom
  :12:14: routes[0].upstream.token: phantom is only for opaque tokens: set tokens: [opaque] on the route
  :12:14: routes[0].upstream.token: phantom needs an authorization server with introspection and response: jwt
no audience & route public: true & upstream token: phantom
  :13:14: routes[0].upstream.token: "phantom" cannot be combined with public: true
`);

  test('accepts phantom tokens if every server signs its answers', async () => {
    expect(await refused(edited(signed, opaque, phantom))).toEqual([]);
    expect(await refused(edited(signed, noJwt, ['jwt }', 'jwt, algorithms: [ES256] }'], phantom))).toEqual([]);
  });
});

describe('token: exchange', () => {
  refuses(`
upstream token: exchange → :13:14: routes[0].upstream.token: exchange needs the key exchange beside it
upstream exchange: {} → :13:7: routes[0].upstream.exchange: applies only with token: exchange
no introspection & upstream token: exchange⏎exchange: {}
  :13:17: routes[0].upstream.exchange: missing keys: client_id, client_secret (main has no introspection to take them from)
servers other: { issuer: "http://127.0.0.1:9001", jwt: { algorithms: [ES256] } } & route authorization_servers: [main] & upstream token: exchange⏎exchange: {}
  :16:17: routes[0].upstream.exchange: missing key: server (there is not exactly one in authorization_servers)
`);
  refuses(
    `
{ client_id: x } → :14:17: routes[0].upstream.exchange: missing key: client_secret
{ server: mian }
  :14:27: routes[0].upstream.exchange.server: "mian" is not in authorization_servers; did you mean main?
{ resource: x } → :14:29: routes[0].upstream.exchange.resource: "x" is not an absolute URI without fragment
{ scope: ["a b"] } → :14:27: routes[0].upstream.exchange.scope[0]: "a b" is not a scope, RFC 6749 §3.3; write a list, [a, b]
{ resource: ["https://x", y] }
  :14:43: routes[0].upstream.exchange.resource[1]: "y" is not an absolute URI without fragment
{ audience: [a, a] } → :14:33: routes[0].upstream.exchange.audience[1]: is listed twice
{ audience: [] } → :14:29: routes[0].upstream.exchange.audience: must not be empty
{ audience: 5 } → :14:29: routes[0].upstream.exchange.audience: expected a string or a list of them, found 5
{ token_type: refresh_token }
  :14:31: routes[0].upstream.exchange.token_type: "refresh_token" is neither access_token nor jwt
{ subject_token_type: id_token }
  :14:39: routes[0].upstream.exchange.subject_token_type: "id_token" is neither access_token nor jwt
{ actor: gateway } → :14:26: routes[0].upstream.exchange.actor: "gateway" is neither none nor client_credentials
`,
    'upstream token: exchange⏎exchange: ',
  );
});

describe('exchange.grant: on_behalf_of', () => {
  refuses(`
upstream token: exchange⏎exchange: { grant: on_behalf_of, scope: [read] } → accepted
upstream token: exchange⏎exchange: { grant: on_behalf_of } → :14:17: routes[0].upstream.exchange: missing key: scope (grant is on_behalf_of)
upstream token: exchange⏎exchange: { grant: on_behalf_of, scope: [read], audience: b, resource: "https://b.example", actor: client_credentials }
  :14:55: routes[0].upstream.exchange.audience: does not apply with grant: on_behalf_of
  :14:68: routes[0].upstream.exchange.resource: does not apply with grant: on_behalf_of
  :14:99: routes[0].upstream.exchange.actor: does not apply with grant: on_behalf_of
upstream token: exchange⏎exchange: { grant: device_code } → :14:26: routes[0].upstream.exchange.grant: "device_code" is neither token_exchange nor on_behalf_of
`);
});
