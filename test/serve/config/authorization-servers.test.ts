import { describe, expect, test } from 'vitest';
import { refused, refuses } from './edits.ts';
import { edited } from './folder.ts';

describe('authorization_servers', () => {
  test('refuses a name that is none', async () => {
    expect(await refused(edited(['  main:', '  "a b":']))).toEqual([
      ':3:3: authorization_servers["a b"]: the key is not a name of letters, digits, dots, dashes and underscores',
    ]);
  });
  refuses(`
no issuer → :4:5: authorization_servers.main: missing key: issuer
issuer as.example
  :4:13: authorization_servers.main.issuer: "as.example" is not an http(s) URL: begin it with http:// or https://
issuer http://x/?a → :4:13: authorization_servers.main.issuer: "http://x/?…" has a query or fragment
issuer "http://x\\n" → :4:13: authorization_servers.main.issuer: "http://x\\n" is not an http(s) URL
servers other: { issuer: "http://127.0.0.1:9000", jwt: { algorithms: [ES256] } } & route authorization_servers: [main]
  :7:20: authorization_servers.other.issuer: is also the issuer of authorization_servers.main
no jwt & no introspection → :3:3: authorization_servers.main: needs jwt, introspection or both
jwt { algorithms: [none] }
  :5:25: authorization_servers.main.jwt.algorithms[0]: "none" means unsigned: any party could make such a token
jwt { algorithms: [RS1] }
  :5:25: authorization_servers.main.jwt.algorithms[0]: "RS1" is not one of RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, ES512, EdDSA, Ed25519
jwt { algorithms: [] } → :5:24: authorization_servers.main.jwt.algorithms: must not be empty
jwt { algorithms: RS256 } → :5:24: authorization_servers.main.jwt.algorithms: expected a list, found a string; put it in [ ]
jwt { algorithms: [RS256, RS256] } → :5:32: authorization_servers.main.jwt.algorithms[1]: is listed twice
jwt { algorithms: [RS256], types: [a b] }
  :5:41: authorization_servers.main.jwt.types[0]: "a b" is not a type such as at+jwt
jwt { algorithms: [RS256], jwks: "http://x#f" }
  :5:39: authorization_servers.main.jwt.jwks: "http://x#f" has a fragment
jwt { algorithms: [RS256], issuers: ["http://127.0.0.1:9000"] }
  :5:43: authorization_servers.main.jwt.issuers[0]: is the issuer itself: list only further ones
jwt { algorithms: [RS256], issuers: ["http://127.0.0.1:9001", x] }
  :5:68: authorization_servers.main.jwt.issuers[1]: "x" is not an http(s) URL: begin it with http:// or https://
servers other: { issuer: "http://127.0.0.1:9001", jwt: { algorithms: [ES256], issuers: ["http://127.0.0.1:9000"] } } & route authorization_servers: [main]
  :7:83: authorization_servers.other.jwt.issuers[0]: is also the issuer of authorization_servers.main
jwt { algorithms: [RS256], issuers: ["http://127.0.0.1:9001"] } & servers other: { issuer: "http://127.0.0.1:9001", jwt: { algorithms: [ES256] } } & route authorization_servers: [main]
  :7:20: authorization_servers.other.issuer: is also the issuer of authorization_servers.main
server scope_prefix: "api //" → :5:19: authorization_servers.main.scope_prefix: "api //" is not what a scope begins with, RFC 6749 §3.3
server audience_claim: aud → :5:21: authorization_servers.main.audience_claim: "aud" is not one of client_id, azp, cid
servers other: { issuer: "http://127.0.0.1:9001", scope_prefix: "api://x/", jwt: { algorithms: [ES256] } } & route authorization_servers: [main, other]⏎tokens: [jwt]
  :12:28: routes[0].authorization_servers: have different values of scope_prefix: none (main) and api://x/ (other); use one route for each
server clock_tolerance: 1h → :5:22: authorization_servers.main.clock_tolerance: "1h" is too long: at most 5m
server timeout: 0s → :5:14: authorization_servers.main.timeout: "0s" is too short: at least 1ms
server stale: 169h → :5:12: authorization_servers.main.stale: "169h" is too long: at most 168h
server stael: 24h
  :5:5: authorization_servers.main.stael: unknown key (did you mean stale?); accepted: …
`);
});

describe('introspection', () => {
  refuses(`
introspection { client_id: x } → :6:20: authorization_servers.main.introspection: missing key: client_secret
introspection { client_id: x, client_secret: y, client_auth: none }
  :6:67: authorization_servers.main.introspection.client_auth: "none" is not one of client_secret_basic, client_secret_post, private_key_jwt
introspection { client_id: x, client_secret: y, url: z }
  :6:54: authorization_servers.main.introspection.url: unknown key; accepted: …
introspection { client_id: x, client_secret: y, prefix: "bank token=" }
  :6:62: authorization_servers.main.introspection.prefix: "bank token=" is not the beginning of a token, RFC 6750 §2.1
introspection { client_id: x, client_secret: y, response: jws }
  :6:64: authorization_servers.main.introspection.response: "jws" is neither json nor jwt
introspection { client_id: x, client_secret: y, algorithms: [ES256] }
  :6:54: authorization_servers.main.introspection.algorithms: applies only with response: jwt
introspection { client_id: x, client_secret: y, response: jwt, algorithms: [none] }
  :6:82: authorization_servers.main.introspection.algorithms[0]: "none" means unsigned: any party could make such a token
no jwt & introspection { client_id: gateway, client_secret: s3cr3t, response: jwt }
  :5:75: authorization_servers.main.introspection.response: jwt needs the key algorithms beside it: this server has no jwt to take them from
introspection { client_id: x, client_secret: y, cache: 30 }
  :6:61: authorization_servers.main.introspection.cache: expected a duration such as 500ms, 30s, 5m or 1h, found 30
introspection { client_id: x, client_secret: y, cache: 0.5s }
  :6:61: authorization_servers.main.introspection.cache: "0.5s" is not a duration such as 500ms, 30s, 5m or 1h
introspection { client_id: x, client_secret: y, cache: 720h }
  :6:61: authorization_servers.main.introspection.cache: "720h" is too long: at most 24h
introspection { client_id: x, client_secret: y, audience: any }
  :6:64: authorization_servers.main.introspection.audience: "any" is neither required nor optional
introspection { client_id: gateway, client_secret: 12345678 }
  :6:57: authorization_servers.main.introspection.client_secret: expected a string, found a number
introspection { client_id: gateway, client_secret: "" }
  :6:57: authorization_servers.main.introspection.client_secret: must not be empty
introspection { client_id: gateway, client_secret: *star }
  :6:57: a name or value that starts with * needs quotes, unless it is the alias of an anchor
introspection { client_id: gateway, client_secret: !bang }
  :6:57: an unknown tag; a value that starts with ! needs quotes
introspection { client_id: gateway, client_secret: "@at", client_id: 5 }
  :6:64: "client_id" is already a key of this mapping, in line 6; write it once
`);
});
