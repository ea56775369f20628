import { describe, expect, test } from 'vitest';
import {
  refused,
  type Row,
  servers,
  issuer,
  algorithms,
  server,
  introspection,
  secret,
  noIntrospection,
  noJwt,
  secondServer,
  route,
} from './edits.ts';
import { edited } from './folder.ts';

describe('authorization_servers', () => {
  test.each<Row>([
    [
      'a name',
      edited(['  main:', '  "a b":']),
      ':3:3: authorization_servers["a b"]: the key is not a name of letters, digits, dots, dashes and underscores',
    ],
    ['no issuer', edited(['    issuer: http://127.0.0.1:9000\n', '']), `:4:5: ${servers}: missing key: issuer`],
    [
      'an issuer that is no URL',
      issuer('as.example'),
      `:4:13: ${servers}.issuer: "as.example" is not an http(s) URL: begin it with http:// or https://`,
    ],
    [
      'an issuer with a query',
      issuer('http://x/?a'),
      `:4:13: ${servers}.issuer: "http://x/?…" has a query or fragment`,
    ],
    [
      'an issuer with a line break',
      issuer('"http://x\\n"'),
      `:4:13: ${servers}.issuer: "http://x\\n" is not an http(s) URL`,
    ],
    [
      'one issuer twice',
      edited(secondServer, ['9001', '9000'], route('authorization_servers: [main]')),
      ':7:20: authorization_servers.other.issuer: is also the issuer of authorization_servers.main',
    ],
    ['neither validation', edited(noJwt, noIntrospection), `:3:3: ${servers}: needs jwt, introspection or both`],
    [
      'none',
      algorithms('[none]'),
      `:5:25: ${servers}.jwt.algorithms[0]: "none" means unsigned: any party could make such a token`,
    ],
    [
      'HMAC',
      algorithms('[HS256]'),
      `:5:25: ${servers}.jwt.algorithms[0]: "HS256" is symmetric: every party that can verify such a token can also forge one`,
    ],
    [
      'an unknown algorithm',
      algorithms('[RS1]'),
      `:5:25: ${servers}.jwt.algorithms[0]: "RS1" is not RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, ES512, EdDSA or Ed25519`,
    ],
    ['no algorithm', algorithms('[]'), `:5:24: ${servers}.jwt.algorithms: must not be empty`],
    [
      'an algorithm outside a list',
      algorithms('RS256'),
      `:5:24: ${servers}.jwt.algorithms: expected a list, found a string`,
    ],
    ['an algorithm twice', algorithms('[RS256, RS256]'), `:5:32: ${servers}.jwt.algorithms[1]: is listed twice`],
    [
      'a type',
      edited(['[RS256]', '[RS256], types: [a b]']),
      `:5:41: ${servers}.jwt.types[0]: "a b" is not a type such as at+jwt`,
    ],
    [
      'keys with a fragment',
      edited(['[RS256]', '[RS256], jwks: "http://x#f"']),
      `:5:39: ${servers}.jwt.jwks: "http://x#f" has a fragment`,
    ],
    ['a tolerance', server('clock_tolerance: 1h'), `:5:22: ${servers}.clock_tolerance: "1h" is too long: at most 5m`],
    ['a timeout of zero', server('timeout: 0s'), `:5:14: ${servers}.timeout: "0s" is too short: at least 1ms`],
    [
      'a stale time above the maximum',
      server('stale: 169h'),
      `:5:12: ${servers}.stale: "169h" is too long: at most 168h`,
    ],
    [
      'a key that is none',
      server('stael: 24h'),
      `:5:5: ${servers}.stael: unknown key (did you mean stale?); accepted: issuer, backchannel, jwt, introspection, clock_tolerance, timeout, stale`,
    ],
  ])('refuses %s', async (_title, yaml, ...lines) => {
    expect(await refused(yaml)).toEqual(lines);
  });
});

describe('introspection', () => {
  test.each<Row>([
    ['no secret', introspection('client_id: x'), `:6:20: ${servers}.introspection: missing key: client_secret`],
    [
      'another authentication',
      introspection('client_id: x, client_secret: y, client_auth: none'),
      `:6:67: ${servers}.introspection.client_auth: "none" is not client_secret_basic, client_secret_post or private_key_jwt`,
    ],
    [
      'an unknown key',
      introspection('client_id: x, client_secret: y, url: z'),
      `:6:54: ${servers}.introspection.url: unknown key; accepted: client_id, client_secret, client_auth, client_key, client_key_id, endpoint, cache, prefix, response, algorithms, audience`,
    ],
    [
      'a prefix that no token begins with',
      introspection('client_id: x, client_secret: y, prefix: "bank token="'),
      `:6:62: ${servers}.introspection.prefix: "bank token=" is not the beginning of a token, RFC 6750 §2.1`,
    ],
    [
      'another answer',
      introspection('client_id: x, client_secret: y, response: jws'),
      `:6:64: ${servers}.introspection.response: "jws" is not json or jwt`,
    ],
    [
      'algorithms of an answer that is not signed',
      introspection('client_id: x, client_secret: y, algorithms: [ES256]'),
      `:6:54: ${servers}.introspection.algorithms: applies only with response: jwt`,
    ],
    [
      'an answer signed with none',
      introspection('client_id: x, client_secret: y, response: jwt, algorithms: [none]'),
      `:6:82: ${servers}.introspection.algorithms[0]: "none" means unsigned: any party could make such a token`,
    ],
    [
      'an answer signed with an unknown algorithm',
      edited(noJwt, ['client_secret: s3cr3t', 'client_secret: s3cr3t, response: jwt']),
      `:5:75: ${servers}.introspection.response: jwt needs the key algorithms beside it: this server has no jwt to take them from`,
    ],
    [
      'a bare number',
      introspection('client_id: x, client_secret: y, cache: 30'),
      `:6:61: ${servers}.introspection.cache: expected a duration such as 500ms, 30s, 5m or 1h, found 30`,
    ],
    [
      'half a second',
      introspection('client_id: x, client_secret: y, cache: 0.5s'),
      `:6:61: ${servers}.introspection.cache: "0.5s" is not a duration such as 500ms, 30s, 5m or 1h`,
    ],
    [
      'a month',
      introspection('client_id: x, client_secret: y, cache: 720h'),
      `:6:61: ${servers}.introspection.cache: "720h" is too long: at most 24h`,
    ],
    [
      'audience',
      introspection('client_id: x, client_secret: y, audience: any'),
      `:6:64: ${servers}.introspection.audience: "any" is not required or optional`,
    ],
    [
      'a secret that is a number',
      secret('12345678'),
      `:6:57: ${servers}.introspection.client_secret: expected a string, found a number`,
    ],
    ['an empty secret', secret('""'), `:6:57: ${servers}.introspection.client_secret: must not be empty`],
    [
      'a secret with a star',
      secret('*star'),
      ':6:57: a name or value that starts with * needs quotes, unless it is the alias of an anchor',
    ],
    ['a secret with a bang', secret('!bang'), ':6:57: an unknown tag; a value that starts with ! needs quotes'],
    [
      'a secret with an at',
      secret('"@at", client_id: 5'),
      ':6:64: "client_id" is already a key of this mapping, in line 6; write it once',
    ],
  ])('refuses %s', async (_title, yaml, ...lines) => {
    expect(await refused(yaml)).toEqual(lines);
  });
});
