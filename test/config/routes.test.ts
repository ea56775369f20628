import { describe, expect, test } from 'vitest';
import {
  refused,
  type Row,
  noIntrospection,
  noJwt,
  secondServer,
  route,
  path,
  audience,
  upstream,
  secondRoute,
  ambiguous,
} from './edits.ts';
import { base, edited, loaded } from './folder.ts';

describe('routes', () => {
  test.each<Row>([
    ['none', edited([base.slice(base.indexOf('  - name')), '  []\n']), ':8:3: routes: must not be empty'],
    [
      'a mapping',
      edited([base.slice(base.indexOf('  - name')), '  {}\n']),
      ':8:3: routes: expected a list, found a mapping; begin each entry with "- "',
    ],
    [
      'a name',
      edited(['name: api', 'name: a/b']),
      ':8:11: routes[0].name: "a/b" is not a name of letters, digits, dots, dashes and underscores',
    ],
    ['a name twice', secondRoute('api', '/b'), ':13:13: routes[1].name: "api" is also the name of routes[0]'],
    ['a path twice', secondRoute('b', '/api'), ':13:22: routes[1].path: "/api" is also the path of routes[0]'],
    [
      'a path twice, but for capitals',
      secondRoute('b', '/API'),
      ':13:22: routes[1].path: "/API" is also the path of routes[0] but for upper and lower case',
    ],
    [
      'a protocol',
      edited(['    audience: https://api.example\n', '    protocol: grpc\n']),
      ':10:15: routes[0].protocol: "grpc" is not http or mcp',
    ],
    [
      'no audience',
      edited(['    audience: https://api.example\n', '']),
      ':8:5: routes[0]: missing key: audience (only protocol: mcp has a default, public_url + path)',
    ],
    [
      'an audience that is a number',
      audience('5'),
      ':10:15: routes[0].audience: expected an audience or a list of them, found 5',
    ],
    ['an empty audience', audience('""'), ':10:15: routes[0].audience: must not be empty'],
    ['an empty list of audiences', audience('[]'), ':10:15: routes[0].audience: must not be empty'],
    ['an empty audience in a list', audience('[""]'), ':10:16: routes[0].audience[0]: must not be empty'],
    ['an audience twice', audience('[a, a]'), ':10:19: routes[0].audience[1]: is listed twice'],
    [
      'no server named among two',
      edited(secondServer),
      ':9:5: routes[0]: missing key: authorization_servers (several are defined: main, other)',
    ],
    [
      'an unknown server',
      edited(route('authorization_servers: [mian]')),
      ':11:29: routes[0].authorization_servers[0]: "mian" is not in authorization_servers; did you mean main?',
    ],
    [
      'a server of Object.prototype',
      edited(route('authorization_servers: [constructor]')),
      ':11:29: routes[0].authorization_servers[0]: "constructor" is not in authorization_servers',
    ],
    [
      'a server twice',
      edited(route('authorization_servers: [main, main]')),
      ':11:35: routes[0].authorization_servers[1]: is listed twice',
    ],
    [
      'no server defined',
      edited([base.slice(base.indexOf('authorization'), base.indexOf('routes')), '']),
      ':3:5: routes[0]: needs an authorization server: define one in authorization_servers, or set public: true',
    ],
    [
      'opaque tokens without introspection',
      edited(noIntrospection, route('tokens: [jwt, opaque]')),
      ':10:19: routes[0].tokens[1]: "opaque" needs introspection in an authorization server that this route trusts',
    ],
    ['other tokens', edited(route('tokens: [saml]')), ':11:14: routes[0].tokens[0]: "saml" is not jwt or opaque'],
    [
      'a policy that is not there',
      edited(route('policy: nope')),
      ':11:13: routes[0].policy: policies/nope.yaml does not exist; policies has no policy',
    ],
    [
      'a policy elsewhere',
      edited(route('policy: ../x')),
      ':11:13: routes[0].policy: "../x" is not a name of letters, digits, dots, dashes and underscores',
    ],
    [
      'a method',
      edited(route('methods: [get]')),
      ':11:15: routes[0].methods[0]: "get" is not an HTTP method in upper case; write "GET"',
    ],
    ['CONNECT', edited(route('methods: [CONNECT]')), ':11:15: routes[0].methods[0]: "CONNECT" is never forwarded'],
    ['a method twice', edited(route('methods: [GET, POST, GET]')), ':11:26: routes[0].methods[2]: is listed twice'],
    [
      'below, on an http route',
      edited(route('below: pass')),
      ':11:5: routes[0].below: applies only with protocol: mcp; an http route passes both',
    ],
    [
      'query, on an http route',
      edited(route('query: refuse')),
      ':11:5: routes[0].query: applies only with protocol: mcp; an http route passes both',
    ],
    [
      'another query',
      edited(route('protocol: mcp\n    query: keep')),
      ':12:12: routes[0].query: "keep" is not refuse or pass',
    ],
    [
      'refusals, on an http route',
      edited(route('refusals: { final: tool_error }')),
      ':11:5: routes[0].refusals: applies only with protocol: mcp, where tools are called',
    ],
    [
      'other refusals',
      edited(route('protocol: mcp\n    refusals: { final: soap }')),
      ':12:24: routes[0].refusals.final: "soap" is not http or tool_error',
    ],
    [
      'a first challenge without a resource',
      edited(route('first_challenge: none')),
      ':11:5: routes[0].first_challenge: applies only to a route with resource',
    ],
    [
      'a first challenge of supported scopes that are not listed',
      edited(route('resource: { name: API }\n    first_challenge: supported')),
      ':12:22: routes[0].first_challenge: supported needs resource.scopes_supported',
    ],
    [
      'another first challenge',
      edited(route('protocol: mcp\n    first_challenge: all')),
      ':12:22: routes[0].first_challenge: "all" is not policy, supported or none',
    ],
    [
      'a first challenge of a public route',
      edited(['    audience: https://api.example\n', ''], route('public: true\n    first_challenge: none')),
      ':11:5: routes[0].first_challenge: cannot be combined with public: true',
    ],
    ['an upgrade', edited(route('upgrade: h2c')), ':11:14: routes[0].upgrade: "h2c" is not websocket'],
    [
      'an upgrade of mcp',
      edited(route('protocol: mcp\n    upgrade: websocket')),
      ':12:14: routes[0].upgrade: cannot be combined with protocol: mcp: the gateway cannot read the messages of an upgraded connection',
    ],
    [
      'public as a string',
      edited(route('public: yes')),
      ':11:13: routes[0].public: expected true or false, found a string',
    ],
    [
      'a resource',
      edited(route('resource: { name: "", documentation: x }')),
      ':11:23: routes[0].resource.name: must not be empty',
      ':11:42: routes[0].resource.documentation: "x" is not an http(s) URL: begin it with http:// or https://',
    ],
  ])('refuses %s', async (_title, yaml, ...lines) => {
    expect(await refused(yaml)).toEqual(lines);
  });
});

test('a server without jwt introspects JWTs only if the route lists that form', async () => {
  const [said, unsaid] = await Promise.all([
    loaded({ yaml: edited(noJwt, route('tokens: [jwt]')) }),
    loaded({ yaml: edited(noJwt) }),
  ]);
  expect([said.routes[0]?.tokens, unsaid.routes[0]?.tokens]).toEqual([new Set(['jwt']), new Set(['opaque'])]);
});

describe('public routes', () => {
  test.each<Row>([
    [
      'with keys that would look like protection',
      edited(
        route(
          'public: true\n    policy: x\n    tokens: [jwt]\n    authorization_servers: [main]\n    resource: {}\n    dpop: {}',
        ),
        upstream('identity: { x-auth-subject: sub }\n      token: forward'),
      ),
      ':10:5: routes[0].audience: cannot be combined with public: true',
      ':12:5: routes[0].policy: cannot be combined with public: true',
      ':13:5: routes[0].tokens: cannot be combined with public: true',
      ':14:5: routes[0].authorization_servers: cannot be combined with public: true',
      ':15:5: routes[0].resource: cannot be combined with public: true',
      ':16:5: routes[0].dpop: cannot be combined with public: true',
      ':19:7: routes[0].upstream.identity: cannot be combined with public: true',
      ':20:14: routes[0].upstream.token: "forward" cannot be combined with public: true',
    ],
    [
      'with mcp',
      edited(['    audience: https://api.example', '    public: true\n    protocol: mcp']),
      ':11:15: routes[0].protocol: mcp cannot be combined with public: true: there is nothing to authorize',
    ],
  ])('refuses %s', async (_title, yaml, ...lines) => {
    expect(await refused(yaml)).toEqual(lines);
  });
});

describe('paths', () => {
  test.each<Row>([
    ['a relative path', path('api'), ':9:11: routes[0].path: "api" does not start with /; write "/api"'],
    ['a trailing slash', path('/a/'), ':9:11: routes[0].path: "/a/" ends with a slash; write "/a"'],
    ['an empty segment', path('/a//b'), ':9:11: routes[0].path: "/a//b" has an empty segment'],
    ['only slashes', path('//'), ':9:11: routes[0].path: "//" ends with a slash; write "/"'],
    ['a dot', path('/a/./b'), ':9:11: routes[0].path: "/a/./b" has a dot segment'],
    ['dots', path('/a/..'), ':9:11: routes[0].path: "/a/.." has a dot segment'],
    ['an escape', path('/a%2fb'), `:9:11: routes[0].path: "/a%2fb" ${ambiguous} "%"`],
    ['a parameter', path('/a;v=1'), `:9:11: routes[0].path: "/a;v=1" ${ambiguous} ";"`],
    ['a backslash', path('/a\\b'), `:9:11: routes[0].path: "/a\\\\b" ${ambiguous} "\\\\"`],
    ['a query', path('/a?b'), `:9:11: routes[0].path: "/a?…" ${ambiguous} "?"`],
    ['a fragment', path('/a#b'), `:9:11: routes[0].path: "/a#b" ${ambiguous} "#"`],
    ['a letter that needs an escape', path('/ä'), `:9:11: routes[0].path: "/ä" ${ambiguous} "ä"`],
    [
      'a wildcard',
      path('/a/*'),
      ':9:11: routes[0].path: "/a/*" has a wildcard: a path already covers everything below it',
    ],
    [
      'the metadata',
      path('/.well-known/oauth-protected-resource'),
      ':9:11: routes[0].path: "/.well-known/oauth-protected-resource" is answered by the gateway itself',
    ],
    [
      'the keys',
      path('/.well-known/sallyport-jwks.json'),
      ':9:11: routes[0].path: "/.well-known/sallyport-jwks.json" is answered by the gateway itself',
    ],
  ])('refuses %s', async (_title, yaml, ...lines) => {
    expect(await refused(yaml)).toEqual(lines);
  });
});
