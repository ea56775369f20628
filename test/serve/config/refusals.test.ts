import { describe, expect, test } from 'vitest';
import { refused, refuses, type Row, servers } from './edits.ts';
import { edited, refusals } from './folder.ts';

describe('the file', () => {
  test.each<Row>([
    ['an empty file', '', ': is empty'],
    ['a file with only a comment', '# nothing\n', ': is empty'],
    ['a list', '- a\n', ':1:1: expected a mapping, found a list; write its entries as keys, without "- "'],
    ['an empty mapping', '{}', ':1:1: missing key: public_url', ':1:1: missing key: routes'],
  ])('refuses %s', async (_title, yaml, ...lines) => {
    expect(await refused(yaml)).toEqual(lines);
  });
  refuses(`
top public_url: http://x → :13:1: "public_url" is already a key of this mapping, in line 1; write it once
top listn: x
  :13:1: listn: unknown key (did you mean listen?); accepted: …
top \${env:K}: x
  :13:1: ["\${env:K}"]: unknown key; accepted: …
`);
});

describe('public_url', () => {
  refuses(`
no public_url → :1:1: missing key: public_url
public_url 5 → :1:13: public_url: expected an origin such as https://gateway.example, found 5
public_url ftp://x → :1:13: public_url: "ftp://x" is not an http(s) URL
public_url http://x/
  :1:13: public_url: "http://x/" is not a bare origin: no path, query, trailing slash, default port or capitals; write "http://x"
public_url http://X:80
  :1:13: public_url: "http://X:80" is not a bare origin: no path, query, trailing slash, default port or capitals; write "http://x"
`);
});

describe('listen and admin', () => {
  refuses(`
top listen: 8080 → :13:9: listen: expected an address such as 127.0.0.1:8080, found 8080
top listen: ":8080" → :13:9: listen: ":8080" is not an address such as 127.0.0.1:8080
top listen: x:65536 → :13:9: listen: "x:65536" is not an address such as 127.0.0.1:8080
top listen: "[::z]:1" → :13:9: listen: "[::z]:1" is not an address such as 127.0.0.1:8080
top admin: no → :13:8: admin: "no" is neither an address such as 127.0.0.1:9090 nor off
top listen: 127.0.0.1:9090 → :13:9: listen: listen and admin cannot share an address
top admin: 127.0.0.1:8080 → :13:8: admin: listen and admin cannot share an address
top admin: { listen: "127.0.0.1:8080" } → :13:8: admin: listen and admin cannot share an address
top admin: { hosts: [a.example] } → :13:8: admin: missing key: listen
top admin: { listen: "x:1", hosts: ["a.example:9090", "*.example", a.example, a.example] }
  :13:33: admin.hosts[0]: "a.example:9090" is not a host name without port
  :13:51: admin.hosts[1]: "*.example" is not a host name without port; name each host
  :13:75: admin.hosts[3]: is listed twice
top admin: { listen: "x:1", token: hunter2 } → :13:32: admin.token: the value is too short: at least 8 characters
top admin: { listen: "x:1", token: "sixteen or more letters" }
  :13:32: admin.token: the value is not visible ASCII without spaces
top admin: { listen: "x:1", token: 1234567890123456 } → :13:32: admin.token: expected a string, found a number
`);
});

describe('scopes, limits and log', () => {
  refuses(`
top scopes: { "a b": [] } → :13:11: scopes["a b"]: the key is not a scope, RFC 6749 §3.3
top scopes: { a: ["b c"] } → :13:15: scopes.a[0]: "b c" is not a scope, RFC 6749 §3.3; write a list, [b, c]
top scopes: { a: b } → :13:14: scopes.a: expected a list, found a string; put it in [ ]
top scopes: { "\${env:K}": [] } → :13:11: scopes["\${env:K}"]: the key is not a scope, RFC 6749 §3.3
top limits: { request_body: 1MB } → :13:25: limits.request_body: "1MB" is not a size such as 512B, 16KiB or 1MiB
top limits: { request_body: 0B } → :13:25: limits.request_body: "0B" is too small
top limits: { request_headers: 2MiB } → :13:28: limits.request_headers: "2MiB" is too large: at most 1MiB
top log: { level: loud } → :13:15: log.level: "loud" is not one of debug, info, warn, error
top log: { decisions: 1 } → :13:19: log.decisions: expected all or denials, found 1
top log: → :13:5: log: expected a mapping, found nothing; write {} for an empty one
`);
});

test('R-156: reports every problem at once: the file in its order, then the policies in theirs', async () => {
  const yaml = edited(['/api\n', '/api/\n'], ['RS256', 'HS256'], ['gateway, ', '"${env:ID}", ']);
  expect(
    await refusals({ yaml: `${yaml}listn: x\n`, files: { 'policies/b.yaml': '', 'policies/a.yaml': 'x: 1' } }),
  ).toEqual([
    `gateway.yaml:5:25: ${servers}.jwt.algorithms[0]: "HS256" is symmetric: every party that can verify such a token can also forge one`,
    `gateway.yaml:6:33: ${servers}.introspection.client_id: the environment variable ID is not set`,
    'gateway.yaml:9:11: routes[0].path: "/api/" ends with a slash; write "/api"',
    'gateway.yaml:13:1: listn: unknown key (did you mean listen?); accepted: …',
    'policies/a.yaml:1:1: x: unknown key (write a claim under claims); accepted: …',
    'policies/b.yaml:1:1: is empty; write what callers need, such as `scope: read`; `{}` accepts any valid token',
  ]);
});

test('refuses a file that is not UTF-8', async () => {
  expect(await refusals({ yaml: Buffer.from([0x80]) })).toEqual(['gateway.yaml: is not UTF-8 text']);
});
