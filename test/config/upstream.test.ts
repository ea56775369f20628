import { describe, expect, test } from 'vitest';
import {
  refused,
  type Row,
  noIntrospection,
  noJwt,
  secondServer,
  route,
  url,
  upstream,
  exchange,
  notFree,
} from './edits.ts';
import { edited } from './folder.ts';

describe('upstreams', () => {
  test.each<Row>([
    [
      'no URL',
      edited(['      url: http://127.0.0.1:3000\n', '      timeouts: {}\n']),
      ':12:7: routes[0].upstream: missing key: url',
    ],
    ['not http', url('ftp://x'), ':12:12: routes[0].upstream.url: "ftp://x" is not an http(s) URL'],
    [
      'a query',
      url('http://x/?token=hunter2'),
      ':12:12: routes[0].upstream.url: "http://x/?…" has a query or fragment',
    ],
    ['a password', url('http://u:hunter2@x'), ':12:12: routes[0].upstream.url: "…@x" contains a user or password'],
    [
      'a password in disguise',
      url('"http:u:hunter2@x"'),
      ':12:12: routes[0].upstream.url: "…@x" is not an http(s) URL',
    ],
    [
      'a password with a slash',
      url('http://u:hunt/er2@x'),
      ':12:12: routes[0].upstream.url: "…@x" is not an http(s) URL',
    ],
    [
      'another token',
      edited(upstream('token: same')),
      ':13:14: routes[0].upstream.token: "same" is not none, phantom, exchange or forward',
    ],
    [
      'R-162: forward for mcp',
      edited(route('protocol: mcp'), upstream('token: forward')),
      ':14:14: routes[0].upstream.token: forward cannot be combined with protocol: mcp: the token was issued only for the gateway',
    ],
    [
      'a response header that is always forwarded',
      edited(upstream('allow_response_headers: [x-powered-by]')),
      ':13:32: routes[0].upstream.allow_response_headers[0]: "x-powered-by" is not alt-svc, clear-site-data, ' +
        'x-accel-charset, x-accel-limit-rate, x-accel-redirect, x-lighttpd-send-file, x-litespeed-location, x-reproxy-file, x-reproxy-url, x-sendfile or x-sendfile2',
    ],
    [
      'a response header in another case',
      edited(upstream('allow_response_headers: [X-Accel-Redirect]')),
      ':13:32: routes[0].upstream.allow_response_headers[0]: "X-Accel-Redirect" is not alt-svc, clear-site-data, ' +
        'x-accel-charset, x-accel-limit-rate, x-accel-redirect, x-lighttpd-send-file, x-litespeed-location, x-reproxy-file, x-reproxy-url, x-sendfile or x-sendfile2; ' +
        'did you mean x-accel-redirect?',
    ],
    [
      'a timeout of zero',
      edited(upstream('timeouts: { connect: 0s }')),
      ':13:28: routes[0].upstream.timeouts.connect: "0s" is too short: at least 1ms',
    ],
    [
      'an unknown timeout',
      edited(upstream('timeouts: { read: 1s }')),
      ':13:19: routes[0].upstream.timeouts.read: unknown key; accepted: connect, response',
    ],
    ...[
      'Host',
      'authorization',
      'Transfer-Encoding',
      'connection',
      'content-length',
      'cookie',
      'x-forwarded-for',
      'x_forwarded_for',
      'mcp-session-id',
    ].map((name): Row => [
      `identity in ${name}`,
      edited(upstream(`identity: { ${name}: sub }`)),
      `:13:19: routes[0].upstream.identity.${name}: ${notFree}`,
    ]),
    [
      'identity in no header',
      edited(upstream('identity: { "x a": sub }')),
      ':13:19: routes[0].upstream.identity["x a"]: the key is not a header name',
    ],
    [
      'identity of no claim',
      edited(upstream('identity: { x-a: "" }')),
      ':13:24: routes[0].upstream.identity.x-a: must not be empty',
    ],
    [
      'identity by no JSON Pointer',
      edited(upstream('identity: { x-a: /a~2 }')),
      ':13:24: routes[0].upstream.identity.x-a: "/a~2" is not a JSON Pointer, RFC 6901 §3',
    ],
    [
      'one header twice',
      edited(upstream('identity: { x-a: sub, X_A: sub }')),
      ':13:29: routes[0].upstream.identity.X_A: is the same header as x-a',
    ],
  ])('refuses %s', async (_title, yaml, ...lines) => {
    expect(await refused(yaml)).toEqual(lines);
  });
});

describe('token: phantom', () => {
  const phantom = upstream('token: phantom');
  const signed = ['client_secret: s3cr3t }', 'client_secret: s3cr3t, response: jwt }'] as const;
  const opaque = route('tokens: [opaque]');

  test.each<Row>([
    [
      'a route that also accepts JWTs of clients',
      edited(signed, phantom),
      ':13:14: routes[0].upstream.token: phantom is only for opaque tokens: set tokens: [opaque] on the route',
    ],
    [
      'a server that does not sign its answers',
      edited(opaque, phantom),
      ':14:14: routes[0].upstream.token: phantom needs introspection.response: jwt of main',
    ],
    [
      'one of two servers that does not sign its answers',
      edited(signed, opaque, route('authorization_servers: [main, other]\n    opaque_tokens: shown_to_all'), phantom, [
        'routes:',
        '  other: { issuer: "http://127.0.0.1:9001", introspection: { client_id: a, client_secret: b } }\nroutes:',
      ]),
      ':17:14: routes[0].upstream.token: phantom needs introspection.response: jwt of other',
    ],
    [
      'a server without introspection',
      edited(noIntrospection, phantom),
      ':12:14: routes[0].upstream.token: phantom is only for opaque tokens: set tokens: [opaque] on the route',
      ':12:14: routes[0].upstream.token: phantom needs an authorization server with introspection and response: jwt',
    ],
    [
      'a public route',
      edited(['audience: https://api.example', 'public: true'], phantom),
      ':13:14: routes[0].upstream.token: "phantom" cannot be combined with public: true',
    ],
  ])('refuses %s', async (_title, yaml, ...lines) => {
    expect(await refused(yaml)).toEqual(lines);
  });

  test('accepts phantom tokens if every server signs its answers', async () => {
    expect(await refused(edited(signed, opaque, phantom))).toEqual([]);
    expect(await refused(edited(signed, noJwt, ['jwt }', 'jwt, algorithms: [ES256] }'], phantom))).toEqual([]);
  });
});

describe('token: exchange', () => {
  test.each<Row>([
    [
      'token: exchange without its key',
      edited(upstream('token: exchange')),
      ':13:14: routes[0].upstream.token: exchange needs the key exchange beside it',
    ],
    [
      'exchange without token: exchange',
      edited(upstream('exchange: {}')),
      ':13:7: routes[0].upstream.exchange: applies only with token: exchange',
    ],
    [
      'half of the credentials',
      edited(exchange('client_id: x')),
      ':14:17: routes[0].upstream.exchange: missing key: client_secret',
    ],
    [
      'no credentials',
      edited(noIntrospection, exchange('')),
      ':13:17: routes[0].upstream.exchange: missing keys: client_id, client_secret (main has no introspection to take them from)',
    ],
    [
      'no server among two',
      edited(secondServer, route('authorization_servers: [main]'), exchange('')),
      ':16:17: routes[0].upstream.exchange: missing key: server (there is not exactly one in authorization_servers)',
    ],
    [
      'an unknown server',
      edited(exchange('server: mian')),
      ':14:27: routes[0].upstream.exchange.server: "mian" is not in authorization_servers; did you mean main?',
    ],
    [
      'a relative resource',
      edited(exchange('resource: x')),
      ':14:29: routes[0].upstream.exchange.resource: "x" is not an absolute URI without fragment',
    ],
    [
      'a scope',
      edited(exchange('scope: ["a b"]')),
      ':14:27: routes[0].upstream.exchange.scope[0]: "a b" is not a scope, RFC 6749 §3.3',
    ],
    [
      'a relative resource in a list',
      edited(exchange('resource: ["https://x", y]')),
      ':14:43: routes[0].upstream.exchange.resource[1]: "y" is not an absolute URI without fragment',
    ],
    [
      'an audience twice',
      edited(exchange('audience: [a, a]')),
      ':14:33: routes[0].upstream.exchange.audience[1]: is listed twice',
    ],
    [
      'no audience in a list',
      edited(exchange('audience: []')),
      ':14:29: routes[0].upstream.exchange.audience: must not be empty',
    ],
    [
      'an audience that is a number',
      edited(exchange('audience: 5')),
      ':14:29: routes[0].upstream.exchange.audience: expected a string or a list of them, found 5',
    ],
    [
      'another kind of token',
      edited(exchange('token_type: refresh_token')),
      ':14:31: routes[0].upstream.exchange.token_type: "refresh_token" is not access_token or jwt',
    ],
    [
      'another kind of subject token',
      edited(exchange('subject_token_type: id_token')),
      ':14:39: routes[0].upstream.exchange.subject_token_type: "id_token" is not access_token or jwt',
    ],
    [
      'another actor',
      edited(exchange('actor: gateway')),
      ':14:26: routes[0].upstream.exchange.actor: "gateway" is not none or client_credentials',
    ],
  ])('refuses %s', async (_title, yaml, ...lines) => {
    expect(await refused(yaml)).toEqual(lines);
  });
});
