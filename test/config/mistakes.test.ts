import { describe, expect, test } from 'vitest';
import { edited, refusals, type Situation } from './folder.ts';

const route = (more: string): string => edited(['    path: /api', `    path: /api\n${more}`]);
const withPolicy = route('    policy: api');
const mcp = edited(['path: /api', 'path: /mcp\n    protocol: mcp\n    policy: api'], ['audience: https', '# https']);
const policy = (text: string, yaml = withPolicy): Situation => ({ yaml, files: { 'policies/api.yaml': text } });
const url = (text: string): Situation => ({ yaml: edited(['url: http://127.0.0.1:3000', `url: ${text}`]) });

/** What people write, and the one message: the place, what is wrong, and the remedy. */
const mistakes: readonly (readonly [mistake: string, Situation, message: string])[] = [
  [
    'a key one space too far left',
    { yaml: route('   policy: api') },
    'gateway.yaml:10:4: "policy" is indented by 3 spaces and "path" above it by 4; indent both alike',
  ],
  [
    'a key one space too far right',
    { yaml: route('     policy: api') },
    'gateway.yaml:10:6: "policy" is indented by 5 spaces and "path" above it by 4; indent both alike',
  ],
  [
    'a key beside its parent instead of below it',
    { yaml: edited(['    issuer:', '  issuer:']) },
    'gateway.yaml:4:3: "issuer" is indented by 2 spaces and "jwt" below it by 4; indent both alike, below "main"',
  ],
  [
    'a first key too far right',
    { yaml: edited(['    issuer:', '      issuer:']) },
    'gateway.yaml:5:5: "jwt" is indented by 4 spaces: indent it by 2 like "main" above it, or by 6 like "issuer"',
  ],
  ['a tab', { yaml: edited(['    path', '\tpath']) }, 'gateway.yaml:9:1: indent with spaces, not tabs'],
  [
    'an open brace',
    { yaml: edited(['{ algorithms: [RS256] }', '{ algorithms: [RS256]']) },
    'gateway.yaml:5:10: this { is not closed; add }',
  ],
  ['an open bracket', { yaml: edited(['[RS256]', '[RS256']) }, 'gateway.yaml:5:24: this [ is not closed; add ]'],
  ['an open quote', { yaml: edited(['path: /api', 'path: "/api']) }, 'gateway.yaml:9:11: add the closing "'],
  [
    'no space after a colon',
    { yaml: edited(['path: /api', 'path:/api']) },
    'gateway.yaml:9:5: add a space after the colon',
  ],
  [
    'no colon',
    { yaml: edited(['path: /api', 'path /api']) },
    'gateway.yaml:9:5: a key must be on one line; is a colon missing?',
  ],
  [
    'no colon after a key that has a list below it',
    { yaml: edited(['routes:', 'routes']) },
    'gateway.yaml:7:1: "routes" is a key without a colon; write "routes:"',
  ],
  [
    'no colon after a key that has a mapping below it',
    { yaml: edited(['    upstream:', '    upstream']) },
    'gateway.yaml:11:5: "upstream" is a key without a colon; write "upstream:"',
  ],
  [
    'no colon after the first key of a file',
    policy('# Payments.\ntools\n  pay: {}\n', mcp),
    'policies/api.yaml:2:1: "tools" is a key without a colon; write "tools:"',
  ],
  [
    'a key twice',
    { yaml: route('    path: /apis') },
    'gateway.yaml:10:5: "path" is already a key of this mapping, in line 9; write it once',
  ],
  [
    'scopes with commas',
    policy('scope: read, write\n'),
    'policies/api.yaml:1:8: scope: "read, write" has commas between scopes; write "read write"',
  ],
  [
    'scopes with commas, nested',
    policy('tools: { pay: { any: [{ scope: read }, { not: { scope: "a ,b c," } }] } }\n', mcp),
    'policies/api.yaml:1:56: tools.pay.any[1].not.scope: "a ,b c," has commas between scopes; write "a b c"',
  ],
  [
    'a regular expression between slashes',
    policy("claims: { role: { matches: '/^ops-/' } }\n"),
    'policies/api.yaml:1:28: claims.role.matches: "/^ops-/" matches no text, because its slashes are part of it; write "^ops-"',
  ],
  [
    'a regular expression between slashes, with a flag',
    policy("claims: { role: { not: { matches: '/ops-\\d+$/i' } } }\n"),
    'policies/api.yaml:1:35: claims.role.not.matches: "/ops-\\\\d+$/i" matches no text, because its slashes are part of it; write "ops-\\\\d+$"; flags cannot be set',
  ],
  [
    'a policy with the suffix .yml',
    { yaml: withPolicy, files: { 'policies/api.yml': '{}' } },
    'gateway.yaml:10:13: routes[0].policy: policies/api.yaml does not exist, but policies/api.yml does; rename it',
  ],
  [
    'the URL of OpenID Connect metadata as issuer',
    { yaml: edited(['http://127.0.0.1:9000', 'https://as.example/realms/a/.well-known/openid-configuration']) },
    'gateway.yaml:4:13: authorization_servers.main.issuer: "https://as.example/realms/a/.well-known/openid-configuration" is the URL of metadata, not an issuer; write the issuer that they name, such as "https://as.example/realms/a"',
  ],
  [
    'the URL of RFC 8414 metadata as issuer',
    { yaml: edited(['http://127.0.0.1:9000', 'https://as.example/.well-known/oauth-authorization-server/a']) },
    'gateway.yaml:4:13: authorization_servers.main.issuer: "https://as.example/.well-known/oauth-authorization-server/a" is the URL of metadata, not an issuer; write the issuer that they name, such as "https://as.example/a"',
  ],
  [
    'the name of a predicate in another language',
    policy('claims: { risk: { less_than: 50 } }\n'),
    'policies/api.yaml:1:19: claims.risk.less_than: unknown key (did you mean below?); accepted: equals, one_of, contains, below, at_most, above, at_least, matches, present, not, integer',
  ],
  [
    'a placeholder in braces without quotes',
    { yaml: edited(['s3cr3t', '${env:SECRET}']) },
    'gateway.yaml:6:58: a placeholder inside { } or [ ] needs quotes',
  ],
  [
    'a placeholder as in shells',
    { yaml: edited(['s3cr3t', '"${SECRET}"']) },
    'gateway.yaml:6:57: authorization_servers.main.introspection.client_secret: a malformed placeholder; write ${env:NAME}, ${env:NAME:-default} or ${file:PATH}',
  ],
  [
    'a list of tools in place of a mapping',
    policy('tools:\n  - get_item\n  - pay\n', mcp),
    'policies/api.yaml:2:3: tools: expected in the form of {"get_*":{},"transfer_funds":{"scope":"payments","arguments":{"/amount":{"at_most":1000}}}}, found a list; write its entries as keys, without "- "',
  ],
  [
    'a list item between tools',
    policy('scope: read\ntools:\n  list: {}\n  - get_*\n', mcp),
    'policies/api.yaml:4:3: a list item between keys; write it as a key, such as NAME: {}',
  ],
  [
    'a pattern that starts with * without quotes',
    policy('scope: read\ntools:\n  *_get: {}\n  pay:\n    scope: x\n', mcp),
    'policies/api.yaml:3:3: a name or value that starts with * needs quotes, unless it is the alias of an anchor',
  ],
  [
    'a tool without a value',
    policy('tools:\n  get_item:\n  pay:\n    scope: x\n', mcp),
    'policies/api.yaml:2:12: tools.get_item: expected a mapping, found nothing; write {} for an empty one',
  ],
  [
    'claims with dashes',
    policy('claims:\n  - role: trader\n'),
    'policies/api.yaml:2:3: claims: expected in the form of {"tenant":"acme","country":["SE","NO"],"risk":{"integer":true,"below":50}}, found a list; write its entries as keys, without "- "',
  ],
  [
    'a lifetime without a unit',
    policy('max_lifetime: 60\n'),
    'policies/api.yaml:1:15: max_lifetime: expected in the form of "60s" or "5m", found 60',
  ],
  [
    'a predicate of another language',
    policy('claims: { risk: { bellow: 50 } }\n'),
    'policies/api.yaml:1:19: claims.risk.bellow: unknown key (did you mean below?); accepted: equals, one_of, contains, below, at_most, above, at_least, matches, present, not, integer',
  ],
  [
    'an address that starts with @ without quotes',
    policy('claims: { mail: @acme.com }\n'),
    'policies/api.yaml:1:17: a value that starts with @, ` or % needs quotes',
  ],
  ['a truncated policy', policy(''), 'policies/api.yaml:1:1: is empty; write `{}` to accept any valid token'],
  [
    'tools in the policy of an HTTP route',
    policy('tools: { get: {} }\n'),
    'gateway.yaml:10:13: routes[0].policy: policies/api.yaml has tools, which needs protocol: mcp',
  ],
  [
    'requests in the policy of an MCP route',
    policy('requests: { GET /api: {} }\n', mcp),
    'gateway.yaml:11:13: routes[0].policy: policies/api.yaml has requests, which needs protocol: http',
  ],
  [
    'requests beside tools',
    policy('requests: { GET /api: {} }\ntools: {}\n', edited()),
    'policies/api.yaml:1:11: requests: cannot be combined with tools, which is for MCP routes: requests are those of HTTP routes',
  ],
  [
    'a path of requests below the route instead of the whole path',
    policy('requests:\n  GET /api/orders: {}\n  GET /orders: {}\n'),
    'policies/api.yaml:3:3: requests["GET /orders"]: matches no path of the routes with this policy; a path is that of the whole request',
  ],
  [
    'a method of requests in lower case',
    policy('requests: { get /api: {} }\n'),
    'policies/api.yaml:1:23: requests["get /api"]: is not a method in capitals or *, one space, and a path that begins with /, such as GET /orders',
  ],
  [
    'a policy that is not there',
    { yaml: withPolicy, files: { 'policies/apis.yaml': '{}', 'policies/tools.yaml': '{}' } },
    'gateway.yaml:10:13: routes[0].policy: policies/api.yaml does not exist; did you mean apis? there are: apis, tools',
  ],
  [
    'a policy in a folder without policies',
    { yaml: withPolicy },
    'gateway.yaml:10:13: routes[0].policy: policies/api.yaml does not exist; policies has no policy',
  ],
  [
    'the file of a policy in place of its name',
    { yaml: route('    policy: policies/api.yaml'), files: { 'policies/api.yaml': '{}' } },
    'gateway.yaml:10:13: routes[0].policy: "policies/api.yaml" is a file, not the name of a policy; write "api"',
  ],
  [
    'an upstream without a scheme',
    url('localhost:3000'),
    'gateway.yaml:12:12: routes[0].upstream.url: "localhost:3000" is not an http(s) URL: begin it with http:// or https://',
  ],
  [
    'a default without a scheme',
    url('${env:UPSTREAM:-localhost:3000}'),
    'gateway.yaml:12:12: routes[0].upstream.url: "${env:UPSTREAM:-…}" (its default) is not an http(s) URL: begin it with http:// or https://',
  ],
  [
    'an upstream as its URL alone',
    { yaml: edited(['upstream:\n      url: http', 'upstream: http']) },
    'gateway.yaml:11:15: routes[0].upstream: expected a mapping with url, found a string',
  ],
  [
    'routes without dashes',
    { yaml: edited(['  - name: api', '    name: api']) },
    'gateway.yaml:8:5: routes: expected a list, found a mapping; begin each entry with "- "',
  ],
  [
    'a public URL with a path',
    { yaml: edited(['http://127.0.0.1:8080', 'https://x.example/mcp']) },
    'gateway.yaml:1:13: public_url: "https://x.example/mcp" is not a bare origin: no path, query, trailing slash, default port or capitals; write "https://x.example"',
  ],
  [
    'a server with a typing error',
    { yaml: route('    authorization_servers: [mian]') },
    'gateway.yaml:10:29: routes[0].authorization_servers[0]: "mian" is not in authorization_servers; did you mean main?',
  ],
  [
    'a symmetric algorithm',
    { yaml: edited(['RS256', 'HS256']) },
    'gateway.yaml:5:25: authorization_servers.main.jwt.algorithms[0]: "HS256" is symmetric: every party that can verify such a token can also forge one',
  ],
];

describe('R-218: a mistake has one message, with its place and its remedy', () => {
  test.each(mistakes)('%s', async (_mistake, situation, message) => {
    expect(await refusals(situation)).toEqual([message]);
  });
});
