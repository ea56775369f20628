import { describe, expect, test } from 'vitest';
import { refused, type Row, noIntrospection, secondServer, route, url, upstream, exchange, notFree } from './edits.ts';
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
    ['a password', url('http://u:hunter2@x'), ':12:12: routes[0].upstream.url: "…@x" has a user or password in it'],
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
      'phantom, not built',
      edited(upstream('token: phantom')),
      ':13:14: routes[0].upstream.token: "phantom" is not none, forward or exchange',
    ],
    [
      'forward for mcp',
      edited(route('protocol: mcp'), upstream('token: forward')),
      ':14:14: routes[0].upstream.token: forward is not for mcp: the token was issued for this gateway alone',
    ],
    [
      'no wait',
      edited(upstream('timeouts: { connect: 0s }')),
      ':13:28: routes[0].upstream.timeouts.connect: "0s" is too short: at least 1ms',
    ],
    [
      'another wait',
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
      'one header twice',
      edited(upstream('identity: { x-a: sub, X_A: sub }')),
      ':13:29: routes[0].upstream.identity.X_A: is the same header as x-a',
    ],
  ])('%s', async (_title, yaml, ...lines) => {
    expect(await refused(yaml)).toEqual(lines);
  });
});

describe('exchanges', () => {
  test.each<Row>([
    [
      'no block',
      edited(upstream('token: exchange')),
      ':13:14: routes[0].upstream.token: exchange needs an exchange: block beside it',
    ],
    [
      'a block alone',
      edited(upstream('exchange: {}')),
      ':13:7: routes[0].upstream.exchange: goes with token: exchange only',
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
      ':16:17: routes[0].upstream.exchange: missing key: server (not exactly one authorization server is defined)',
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
      'actor, not built',
      edited(exchange('actor: none')),
      ':14:19: routes[0].upstream.exchange.actor: unknown key; accepted: server, client_id, client_secret, client_auth, endpoint, audience, resource, scope',
    ],
  ])('%s', async (_title, yaml, ...lines) => {
    expect(await refused(yaml)).toEqual(lines);
  });
});
