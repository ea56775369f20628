import { beforeAll, expect, test } from 'vitest';
import { examineToken } from '../../../src/commands/doctor/token.ts';
import type { Config } from '../../../src/ports/config.ts';
import { loaded } from '../../serve/config/folder.ts';
import { startIssuer } from '../../support/issuer.ts';
import { startBeforeAll } from '../../support/start-before.ts';
import { linesOf } from './found.ts';

const issuer = startBeforeAll(startIssuer);
let config: Config;
beforeAll(async () => {
  config = await loaded({
    yaml: `public_url: http://127.0.0.1:8080
authorization_servers:
  main:
    issuer: ${issuer.url}
    jwt: { algorithms: [RS256] }
    introspection: { client_id: gateway, client_secret: s3cr3t }
routes:
  - { name: tools, path: /mcp, protocol: mcp, audience: tools-api, policy: tools, upstream: { url: "http://127.0.0.1:9" } }
  - { name: api, path: /api, audience: other-api, tokens: [jwt], upstream: { url: "http://127.0.0.1:9" } }
`,
    files: { 'policies/tools.yaml': 'scope: read\n' },
  });
});

async function examined(token: string, route?: string, within = config): Promise<readonly string[]> {
  const lines = await linesOf(examineToken(token, route, within, Date.now()));
  for (const part of token.split('.')) expect(lines.join('\n')).not.toContain(part);
  return lines;
}

test('a token that fits is compared with the route whose audience it names, claim by claim', async () => {
  const token = await issuer.sign({ aud: ['x', 'tools-api'], scope: 'read write' });
  expect(await examined(token)).toEqual([
    'ok token: it is compared with route tools',
    `ok token: iss is "${issuer.url}"`,
    'ok token: aud is "x", "tools-api"',
    'ok token: alg is "RS256"',
    'ok token: typ is "at+jwt"',
    expect.stringMatching(/^ok token: exp is 5 min ahead|4 min ahead/),
    'ok token: scope is "read write"',
    'ok token: route tools accepts it',
  ]);
});

test('each claim that does not fit has its own line, and the gateway its verdict', async () => {
  const claims = { iss: 'https://else\u{1b}[2J', aud: 'nothing', exp: 1000, nbf: 4_000_000_000, scope: 'other' };
  const lines = await examined(await issuer.sign(claims, { header: { typ: 'id+jwt' } }), 'tools');
  expect(lines).toEqual([
    'ok token: it is compared with route tools',
    expect.stringMatching(/^fail token: iss is "https:\/\/else.*"; accepted: "http:/),
    'fail token: aud is "nothing"; accepted: "tools-api"',
    'ok token: alg is "RS256"',
    expect.stringMatching(/^fail token: typ is "id\+jwt"; accepted: "at\+jwt"/),
    expect.stringMatching(/^fail token: exp is \d+ d ago; clock_tolerance is 5 s$/),
    expect.stringMatching(/^fail token: nbf is \d+ d ahead; clock_tolerance is 5 s$/),
    'warn token: scope is "other"; policy tools needs read',
    expect.stringMatching(/^fail token: route tools refuses it: token\./),
  ]);
  expect(lines.join('')).not.toContain('\u{1b}');
});

test('a token that no published key signed is refused by the code that serves', async () => {
  const token = await issuer.sign({ aud: 'other-api' });
  const forged = `${token.slice(0, -20)}${token.slice(-20).split('').toReversed().join('')}`;
  expect((await examined(forged)).at(-1)).toMatch(/^fail token: route api refuses it: token\.(?:signature|malformed)/);
});

test('an opaque token shows what introspection says of it', async () => {
  issuer.introspection.set('opaque-token-1', { active: true, aud: 'tools-api', scope: 'read', sub: 'alice' });
  expect(await examined('opaque-token-1', 'tools')).toEqual([
    'ok token: it is compared with route tools',
    `ok token: iss is "${issuer.url}"`,
    'ok token: aud is "tools-api"',
    'ok token: scope is "read"',
    'ok token: route tools accepts it',
  ]);
  expect((await examined('opaque-token-2', 'tools')).at(-1)).toMatch(/refuses it: token\.inactive/);
  const [, verdict] = await examineToken('opaque-token-2', 'tools', config, Date.now());
  expect(verdict?.remedy).toMatch(/^get a new token; .* only its own tokens, as better-auth and Glewlwyd do/);
});

test('a token that names no route asks for --route', async () => {
  expect(await examined('opaque-token-1')).toEqual(['fail token: it is opaque, which names no route']);
  expect(await examined(await issuer.sign({ aud: 'nothing' }))).toEqual([
    'fail token: it is for aud "nothing", which names no route',
  ]);
  expect(await examined('opaque-token-1', 'nowhere')).toEqual(['fail token: no route with tokens is named "nowhere"']);
});

test('an opaque token where only JWTs are accepted names introspection', async () => {
  const yaml = (more: string) => `public_url: http://127.0.0.1:8080
authorization_servers: { main: { issuer: "${issuer.url}", jwt: { algorithms: [RS256] } } }
routes:
  - { name: tools, path: /mcp, protocol: mcp, upstream: { url: "http://127.0.0.1:9" } }
${more}`;
  const one = await loaded({ yaml: yaml('') });
  expect(await examined('opaque-token-1', 'tools', one)).toEqual([
    'ok token: it is compared with route tools',
    'fail token: route tools refuses it: token.form: the route does not accept opaque tokens: ' +
      'none of its authorization servers has introspection',
  ]);
  const two = await loaded({
    yaml: yaml('  - { name: api, path: /api, audience: other-api, upstream: { url: "http://127.0.0.1:9" } }\n'),
  });
  expect(await examined('opaque-token-1', undefined, two)).toEqual([
    'fail token: it is opaque, and no route accepts opaque tokens',
  ]);
  for (const [name, each] of [['tools', one] as const, [undefined, two] as const]) {
    const findings = await examineToken('opaque-token-1', name, each, Date.now());
    expect(findings.at(-1)?.remedy).toMatch(/^configure introspection of its authorization server/);
  }
});
