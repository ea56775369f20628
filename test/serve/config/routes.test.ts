import { describe, expect, test } from 'vitest';
import { noJwt, refused, refuses, route, type Row } from './edits.ts';
import { base, edited, loaded } from './folder.ts';

describe('routes', () => {
  const list = base.slice(base.indexOf('  - name'));
  test.each<Row>([
    ['none', edited([list, '  []\n']), ':8:3: routes: must not be empty'],
    [
      'no server defined',
      edited([base.slice(base.indexOf('authorization'), base.indexOf('routes')), '']),
      ':3:5: routes[0]: needs an authorization server: define one in authorization_servers, or set public: true',
    ],
  ])('refuses %s', async (_title, yaml, ...lines) => {
    expect(await refused(yaml)).toEqual(lines);
  });
  refuses(`
name a/b → :8:11: routes[0].name: "a/b" is not a name of letters, digits, dots, dashes and underscores
routes - { name: api, path: /b, public: true, upstream: { url: http://x } }
  :13:13: routes[1].name: "api" is also the name of routes[0]
routes - { name: b, path: /api, public: true, upstream: { url: http://x } }
  :13:22: routes[1].path: "/api" is also the path of routes[0]; write one route, whose policy decides by method in requests
routes - { name: b, path: /API, public: true, upstream: { url: http://x } }
  :13:22: routes[1].path: "/API" is also the path of routes[0] but for upper and lower case
no audience & route protocol: grpc → :10:15: routes[0].protocol: "grpc" is neither http nor mcp
no audience → :8:5: routes[0]: missing key: audience (only protocol: mcp has a default, public_url + path)
audience 5 → :10:15: routes[0].audience: expected an audience or a list of them, found 5
audience "" → :10:15: routes[0].audience: must not be empty
audience [] → :10:15: routes[0].audience: must not be empty
audience [""] → :10:16: routes[0].audience[0]: must not be empty
audience [a, a] → :10:19: routes[0].audience[1]: is listed twice
servers other: { issuer: "http://127.0.0.1:9001", jwt: { algorithms: [ES256] } }
  :9:5: routes[0]: missing key: authorization_servers (several are defined: main, other)
route authorization_servers: [constructor]
  :11:29: routes[0].authorization_servers[0]: "constructor" is not in authorization_servers
route authorization_servers: [main, main] → :11:35: routes[0].authorization_servers[1]: is listed twice
no introspection & route tokens: [jwt, opaque]
  :10:19: routes[0].tokens[1]: "opaque" needs introspection in an authorization server that this route trusts
route tokens: [saml] → :11:14: routes[0].tokens[0]: "saml" is neither jwt nor opaque
route policy: nope → :11:13: routes[0].policy: policies/nope.yaml does not exist; policies has no policy
route policy: ../x → :11:13: routes[0].policy: "../x" is not a name of letters, digits, dots, dashes and underscores
route methods: [get] → :11:15: routes[0].methods[0]: "get" is not an HTTP method in upper case; write "GET"
route methods: [CONNECT] → :11:15: routes[0].methods[0]: "CONNECT" is never forwarded
route methods: [GET, POST, GET] → :11:26: routes[0].methods[2]: is listed twice
route below: pass → :11:5: routes[0].below: applies only with protocol: mcp; an http route passes both
route query: refuse → :11:5: routes[0].query: applies only with protocol: mcp; an http route passes both
route protocol: mcp⏎query: keep → :12:12: routes[0].query: "keep" is neither refuse nor pass
route refusals: { final: tool_error }
  :11:5: routes[0].refusals: applies only with protocol: mcp, where tools are called
route protocol: mcp⏎refusals: { final: soap } → :12:24: routes[0].refusals.final: "soap" is neither http nor tool_error
route first_challenge: none → :11:5: routes[0].first_challenge: applies only to a route with resource
route resource: { name: API }⏎first_challenge: supported
  :12:22: routes[0].first_challenge: supported needs resource.scopes_supported
route protocol: mcp⏎first_challenge: all → :12:22: routes[0].first_challenge: "all" is not one of policy, supported, none
no audience & route public: true⏎first_challenge: none
  :11:5: routes[0].first_challenge: cannot be combined with public: true
route decision_point: acme → :11:21: routes[0].decision_point: "acme" is not in decision_points
no audience & route public: true⏎decision_point: acme
  :11:5: routes[0].decision_point: cannot be combined with public: true
route upgrade: h2c → :11:14: routes[0].upgrade: "h2c" is not websocket
route protocol: mcp⏎upgrade: websocket
  :12:14: routes[0].upgrade: cannot be combined with protocol: mcp: the gateway cannot read the messages of an upgraded connection
route public: yes
  :11:13: routes[0].public: expected true or false, found a string; "yes" is a text in YAML 1.2: write true
route resource: { name: "", documentation: x }
  :11:23: routes[0].resource.name: must not be empty
  :11:42: routes[0].resource.documentation: "x" is not an http(s) URL: begin it with http:// or https://
`);
});

test('a server without jwt introspects JWTs only if the route lists that form', async () => {
  const [said, unsaid] = await Promise.all([
    loaded({ yaml: edited(noJwt, route('tokens: [jwt]')) }),
    loaded({ yaml: edited(noJwt) }),
  ]);
  expect([said.routes[0]?.tokens, unsaid.routes[0]?.tokens]).toEqual([new Set(['jwt']), new Set(['opaque'])]);
});

describe('public routes', () => {
  refuses(`
route public: true⏎policy: x⏎tokens: [jwt]⏎authorization_servers: [main]⏎resource: {}⏎dpop: {} & upstream identity: { x-auth-subject: sub }⏎token: forward
  :10:5: routes[0].audience: cannot be combined with public: true
  :12:5: routes[0].policy: cannot be combined with public: true
  :13:5: routes[0].tokens: cannot be combined with public: true
  :14:5: routes[0].authorization_servers: cannot be combined with public: true
  :15:5: routes[0].resource: cannot be combined with public: true
  :16:5: routes[0].dpop: cannot be combined with public: true
  :19:7: routes[0].upstream.identity: cannot be combined with public: true
  :20:14: routes[0].upstream.token: "forward" cannot be combined with public: true
no audience & route public: true⏎protocol: mcp
  :11:15: routes[0].protocol: mcp cannot be combined with public: true: there is nothing to authorize
`);
});

describe('paths', () => {
  refuses(`
path 'api' → :9:11: routes[0].path: "api" does not start with /; write "/api"
path '/a/' → :9:11: routes[0].path: "/a/" ends with a slash; write "/a"
path '/a//b' → :9:11: routes[0].path: "/a//b" has an empty segment
path '//' → :9:11: routes[0].path: "//" ends with a slash; write "/"
path '/a/./b' → :9:11: routes[0].path: "/a/./b" has a dot segment
path '/a/..' → :9:11: routes[0].path: "/a/.." has a dot segment
path '/a%2fb' → :9:11: routes[0].path: "/a%2fb" has a character that servers read in different ways; it is "%"
path '/a;v=1' → :9:11: routes[0].path: "/a;v=1" has a character that servers read in different ways; it is ";"
path '/a\\b' → :9:11: routes[0].path: "/a\\\\b" has a character that servers read in different ways; it is "\\\\"
path '/a?b' → :9:11: routes[0].path: "/a?…" has a character that servers read in different ways; it is "?"
path '/a#b' → :9:11: routes[0].path: "/a#b" has a character that servers read in different ways; it is "#"
path '/ä' → :9:11: routes[0].path: "/ä" has a character that servers read in different ways; it is "ä"
path '/a/*' → :9:11: routes[0].path: "/a/*" has a wildcard: a path already covers everything below it
path '/.well-known/oauth-protected-resource'
  :9:11: routes[0].path: "/.well-known/oauth-protected-resource" is answered by the gateway itself
path '/.well-known/sallyport-jwks.json'
  :9:11: routes[0].path: "/.well-known/sallyport-jwks.json" is answered by the gateway itself
`);
});

describe('root_resource and oauth_endpoints_at_root', () => {
  refuses(`
route resource: {} & top root_resource: api → accepted
top root_resource: api → :13:16: root_resource: "api" is not the name of a route with a resource
route resource: {} & top root_resource: apx → :14:16: root_resource: "apx" is not the name of a route with a resource
path / & route resource: {} & routes - { name: b, path: /b, audience: b, resource: {}, upstream: { url: "http://x" } } & top root_resource: b
  :15:16: root_resource: "b" cannot be at the root: the route with the path / is there
top oauth_endpoints_at_root: main → accepted
top oauth_endpoints_at_root: maim → :13:26: oauth_endpoints_at_root: "maim" is not in authorization_servers; did you mean main?
path /token & top oauth_endpoints_at_root: main
  :9:11: routes[0].path: "/token" is answered by oauth_endpoints_at_root: choose another path
`);
});
