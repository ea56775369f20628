import { describe, expect, test } from 'vitest';
import { tlsLine } from '../../support/certificates.ts';
import { route, top } from './edits.ts';
import { base, edited, type Situation, warningsIn } from './folder.ts';

const warnings = (yaml: string): Promise<readonly string[]> => warningsIn({ yaml });

test('has no warning for a plain configuration', async () => {
  expect(await warnings(base)).toEqual([]);
});

test('warns of a public URL that needs a proxy while no proxy is listed', async () => {
  const https = edited(
    ['public_url: http://127.0.0.1:8080', 'public_url: https://gateway.example'],
    ['s3cr3t', '"${env:SECRET}"'],
  );
  expect(await inFile(https)).toEqual([
    'gateway.yaml:1:13: public_url: is https, and there is no tls: add the proxy that terminates TLS to trusted_proxies; without it, all its callers share one address in limits',
  ]);
  expect(await inFile(`${https}trusted_proxies: [10.0.0.1]\n`)).toEqual([]);
  expect(await inFile(`${https}${tlsLine()}`)).toEqual([]);
});

test.each([
  ['supported', '[read]', ['payments', 'admin']],
  ['supported', '[read, payments, admin]', []],
  ['policy', '[read]', []],
  ['none', '[read]', []],
])(
  'warns of scopes that first_challenge: %s with scopes_supported: %s puts out of reach',
  async (first, supported, missing) => {
    const resource = `resource: { scopes_supported: ${supported} }\n    first_challenge: ${first}\n    policy: p`;
    const yaml = edited(route(`protocol: mcp\n    ${resource}`));
    const policy = 'scope: read\ntools: { pay: { scope: payments }, drop: { scope: admin } }\n';
    const found = await warningsIn({ yaml, files: { 'policies/p.yaml': policy } });
    const place = 'gateway.yaml:13:22: routes[0].first_challenge';
    const line = `${place}: "supported" names scopes_supported, which lacks ${missing.join(' ')}: add them, or some clients can never get them`;
    expect(found).toEqual(missing.length === 0 ? [] : [line]);
  },
);

test('warns of offline_access among the scopes of a resource', async () => {
  const of = (scopes: string) => warnings(edited(route(`resource: { scopes_supported: [${scopes}] }`)));
  expect(await of('read, offline_access')).toEqual([
    expect.stringMatching(/: routes\[0\]\.resource\.scopes_supported: has offline_access, which is no scope of a /),
  ]);
  expect(await of('read')).toEqual([]);
});

test.each([
  [
    'trusted_proxies: [0.0.0.0/0]',
    'trusted_proxies[0]: "0.0.0.0/0" trusts every address: each client can choose its own address',
  ],
  [
    'certificate_proxies: [10.0.0.0/8, "::/0"]',
    'certificate_proxies[1]: "::/0" trusts every address: each client can claim any certificate',
  ],
  ['admin: { listen: "x:1", token: hunter-2 }', 'admin.token: is short: use at least 16 random characters'],
])('warns of %s', async (line, warning) => {
  const [found, ...others] = await warnings(top(line));
  expect(found?.replace(/^gateway\.yaml:\d+:\d+: /, '')).toBe(warning);
  expect(others).toEqual([]);
});

const remote = edited(['issuer: http://127.0.0.1:9000', 'issuer: https://as.example']);
const inFile = (yaml: string, files: Situation['files'] = {}): Promise<readonly string[]> =>
  warningsIn({ yaml, files, env: { SECRET: 'x'.repeat(40) } });

test('warns of an issuer that is http and not on loopback', async () => {
  const issuer = (url: string) =>
    inFile(edited(['issuer: http://127.0.0.1:9000', `issuer: ${url}`], ['s3cr3t', '"${env:SECRET}"']));
  expect(await issuer('http://as.example')).toEqual([
    'gateway.yaml:4:13: authorization_servers.main.issuer: "http://as.example" is http and not on loopback: a party on the way can replace its keys; use https',
  ]);
  for (const url of ['https://as.example', 'http://localhost:9000', 'http://127.0.0.2', 'http://[::1]:9000']) {
    expect(await issuer(url)).toEqual([]);
  }
  for (const url of ['http://localhost.example', 'http://127.0.0.1.example', 'http://[::2]']) {
    expect(await issuer(url)).toHaveLength(1);
  }
});

test('warns of a decision point over http that is not on loopback', async () => {
  const point = (url: string) =>
    warnings(
      `decision_points: { acme: { url: "${url}" } }\n${edited(['path: /api', 'path: /api\n    decision_point: acme'])}`,
    );
  expect(await point('http://pdp.example')).toEqual([
    'gateway.yaml:1:33: decision_points.acme.url: "http://pdp.example" is http and not on loopback: a party on the way can decide in its place, and reads its token; use https',
  ]);
  for (const url of ['https://pdp.example', 'http://127.0.0.1:9']) expect(await point(url)).toEqual([]);
});

describe('a scope that no route supports', () => {
  const mcp = (more: string, supported = 'read') =>
    `${edited(
      [
        'path: /api',
        `path: /mcp\n    protocol: mcp\n    policy: p\n    resource: { scopes_supported: [${supported}] }`,
      ],
      ['audience: https', '# https'],
    )}${more}`;
  const found = (more: string, policy = 'scope: read\n', supported?: string) =>
    warningsIn({ yaml: mcp(more, supported), files: { 'policies/p.yaml': policy } });

  test('is warned of in scopes', async () => {
    expect(
      await found('scopes: { admin: [write], wirte: [raed] }\n', 'scope: read\ntools: { t: { scope: write } }\n'),
    ).toEqual([
      'gateway.yaml:16:27: scopes.wirte: no route supports "wirte"',
      'gateway.yaml:16:27: scopes.wirte: no route supports "raed"',
    ]);
  });

  test('is warned of in the scope that a policy wants of every caller', async () => {
    expect(await found('', 'scope: raed\n')).toEqual([
      'policies/p.yaml:1:8: scope: every caller needs "raed", which scopes_supported of no route has; did you mean read? If not, add it to routes[0].resource.scopes_supported',
    ]);
    expect(await found('', 'scope: admin\n')).toEqual([
      'policies/p.yaml:1:8: scope: every caller needs "admin", which scopes_supported of no route has; add it to routes[0].resource.scopes_supported',
    ]);
    expect(await found('', 'scope: read,\n')).toHaveLength(2);
  });

  test('is warned of in an entry if it is a letter or two from one that is supported', async () => {
    const policy =
      'scope: read\ntools:\n  pay: { scope: paymnets }\n  move: { any: [{ scope: [wirte] }, { scope: payments }] }\n';
    const remedy = 'If not, add it to scopes_supported';
    expect(await found('scopes: { write: [read] }\n', policy, 'read, payments')).toEqual([
      `policies/p.yaml:3:17: tools.pay.scope: no route supports "paymnets"; did you mean payments? ${remedy}`,
      `policies/p.yaml:4:27: tools.move.any[0].scope[0]: no route supports "wirte"; did you mean write? ${remedy}`,
    ]);
  });

  test.each<[title: string, more: string, policy: string, supported?: string]>([
    ['that a tool adds', '', 'scope: read\ntools: { pay: { scope: payments } }\n'],
    ['that a supported scope implies', 'scopes: { write: [read] }\n', 'scope: read\n', 'write'],
    ['of alternatives', '', 'any: [{ scope: read }, { scope: admin }]\n'],
    [
      'of an approver',
      'approvals: { authorization_servers: [main] }\n',
      'scope: read\ntools: { pay: { approval: { by: { scope: raed } } } }\n',
    ],
  ])('is not one %s', async (_title, more, policy, supported) => {
    expect(await found(more, policy, supported)).toEqual([]);
  });

  test('is unknown on a route that lists no scopes', async () => {
    const yaml = edited(['path: /api', 'path: /api\n    policy: p']);
    expect(await warningsIn({ yaml, files: { 'policies/p.yaml': 'scope: any' } })).toEqual([]);
  });
});

describe('what a policy probably does not mean', () => {
  const found = (files: Situation['files']) => inFile(base, files);

  test.each<[title: string, policy: string, ...warnings: string[]]>([
    [
      'a comma in a scope',
      'any: [{ scope: "read,write" }, { scope: [a, "b,"] }]\n',
      'policies/p.yaml:1:16: any[0].scope: "read,write" is one scope with a comma; write "read write" for several',
      'policies/p.yaml:1:45: any[1].scope[1]: "b," is one scope with a comma; write "b"',
    ],
    [
      'slashes around a regular expression',
      "tools: { t: { arguments: { /a: { matches: '/ops/' } } } }\n",
      'policies/p.yaml:1:43: tools.t.arguments["/a"].matches: "/ops/" matches only text with these slashes; write "ops", or "\\\\/ops\\\\/" if they are meant',
    ],
    [
      'a parameter in a path',
      'requests: { "GET /api/:id/lines": {}, "GET /a:b": {} }\n',
      'policies/p.yaml:1:13: requests["GET /api/:id/lines"]: covers only the path with ":id" itself; write {id} or * for any segment',
    ],
    ['a claim named scope', 'claims: { scope: "read,write" }\n'],
    ['a regular expression for paths', 'claims: { path: { matches: "^/api/" }, area: { matches: "/eu/x" } }\n'],
    ['escaped slashes, and an escaped $', "claims: { path: { matches: '\\/api/' }, price: { matches: '/US\\$/x' } }\n"],
  ])('%s', async (_title, text, ...warnings) => {
    expect(await found({ 'policies/p.yaml': text })).toEqual(warnings);
  });

  test('a file with another suffix', async () => {
    const files = { 'p.yml': '{', 'p.test.yml': '{', 'Q.YAML': '{', '.p.yml': '{', 'p.json': '{', 'p.yaml': '{}' };
    expect(
      await found(Object.fromEntries(Object.entries(files).map(([name, text]) => [`policies/${name}`, text]))),
    ).toEqual([
      'policies/Q.YAML: is not read; rename it to Q.yaml',
      'policies/p.test.yml: is not read; rename it to p.test.yaml',
      'policies/p.yml: is not read; rename it to p.yaml',
    ]);
  });
});

describe('an identity claim that looks like a placeholder', () => {
  const identity = (claim: string) =>
    warnings(edited(['      url:', `      identity: { x-auth-role: "${claim}" }\n      url:`]));

  test.each(['<claim>', '{sub}', '$sub', '...', 'TODO', 'your-claim', 'claim_name', 'CHANGEME', 'xxx'])(
    '%s',
    async (claim) => {
      expect(await identity(claim)).toEqual([
        `gateway.yaml:12:32: routes[0].upstream.identity.x-auth-role: "${claim}" looks like a placeholder: write the name of a claim`,
      ]);
    },
  );

  test.each(['sub', 'role', '/act/sub', 'xx', 'claims_url', 'https://acme.example/claim'])('not %s', async (claim) => {
    expect(await identity(claim)).toEqual([]);
  });
});

describe('a secret in the file', () => {
  const remedy = 'keep it in the environment or in a file, as ${env:NAME} or ${file:PATH}';
  const secret = (text: string) => inFile(remote.replace('s3cr3t', () => text));
  const place = 'gateway.yaml:6:57: authorization_servers.main.introspection.client_secret';

  test('is found in plain text, and as the default of a placeholder', async () => {
    expect(await secret('s3cr3t')).toEqual([`${place}: a secret in plain text; ${remedy}`]);
    expect(await secret('"${env:UNSET:-s3cr3t}"')).toEqual([
      `${place}: a secret as the default of a placeholder; ${remedy}`,
    ]);
    expect(await secret('"${env:SECRET}"')).toEqual([]);
    expect(await secret('"${env:SECRET:-}"')).toEqual([]);
  });

  test('may be the password in the URL of the store', async () => {
    const key = 'session_key: "${env:SECRET}0123456789"\n';
    const store = (url: string) => inFile(`${remote.replace('s3cr3t', '"${env:SECRET}"')}${key}shared: ${url}\n`);
    expect(await store('redis://127.0.0.1:6379')).toEqual([]);
    expect(await store('redis://:pw@127.0.0.1:6379')).toEqual([
      `gateway.yaml:14:9: shared: a secret in plain text; ${remedy}`,
    ]);
  });

  test('does not matter while the gateway and all authorization servers are on loopback', async () => {
    expect(await inFile(base)).toEqual([]);
  });
});
