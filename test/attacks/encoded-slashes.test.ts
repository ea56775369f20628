import { describe, expect, test } from 'vitest';
import { startBeforeAll } from '../support/start-before.ts';
import { startWorld } from '../worlds/gateway.ts';

const world = startBeforeAll(() =>
  startWorld({
    routes: [
      'name: git, path: /git, audience: a, policy: git, encoded_slashes: pass, upstream: { url: "UPSTREAM/api" }',
      'name: admin, path: /git/admin, audience: a, policy: closed, upstream: { url: "UPSTREAM/admin" }',
      'name: plain, path: /plain, audience: a, upstream: { url: UPSTREAM }',
    ],
    policies: {
      git: `
requests:
  'GET /git/projects/{id}': {}
  'GET /git/projects/{id}/files/{path}': { variables: { id: { matches: '^acme' } } }
  'GET /git/projects/secret/keys': { scope: admin }
  'GET /git/groups/acme%2fweb': {}
  'GET /git/deep/*': {}
  'GET /git/deep/*/*': { scope: admin }
`,
      closed: 'scope: admin\nrequests: { "* /**": {} }',
    },
  }),
);

describe('R-357: with `encoded_slashes: pass`', () => {
  test.for([
    ['/git/projects/acme%2Fweb', '/api/projects/acme%2Fweb', 'requests["GET /git/projects/{id}"]'],
    ['/git/projects/acme%2fweb?x=%2f', '/api/projects/acme%2fweb?x=%2f', 'requests["GET /git/projects/{id}"]'],
    ['/git/groups/acme%2Fweb', '/api/groups/acme%2Fweb', 'requests["GET /git/groups/acme%2fweb"]'],
    ['/git/groups/acme%2fweb', '/api/groups/acme%2fweb', 'requests["GET /git/groups/acme%2fweb"]'],
    [
      '/git/projects/acme/files/src%2Fmain.ts',
      '/api/projects/acme/files/src%2Fmain.ts',
      'requests["GET /git/projects/{id}/files/{path}"]',
    ],
  ] as const)('%s reaches the upstream as it came', async ([path, sent, rule]) => {
    world.upstream.seen.splice(0);
    const { status } = await world.send(path, { token: await world.token() });
    expect(status).toBe(200);
    expect(world.upstream.seen.map(({ url }) => url)).toEqual([sent]);
    expect(await world.gateway.decision({ rule, path: path.split('?')[0]?.replace('%2f', '%2F') })).toBeDefined();
  });

  test.for([
    // A variable with it meets no condition.
    ['/git/projects/acme%2Fweb/files/x', 403, 'variable.denied'],
    // Another entry, or another route, decides it for a server that decodes first.
    ['/git/projects/secret%2Fkeys', 403, 'request.unlisted'],
    ['/git/projects/Secret%2fKEYS', 403, 'request.unlisted'],
    ['/git/projects/secret%2Fkeys.json', 403, 'request.unlisted'],
    ['/git/deep/a%2Fb', 403, 'request.unlisted'],
    ['/git/admin%2Fusers', 400, 'request.path'],
    ['/git/Admin%2Fusers', 400, 'request.path'],
    ['/git/admin.json%2Fusers', 400, 'request.path'],
    ['/git%2Fadmin', 400, 'request.path'],
    ['/git%2Fprojects', 400, 'request.path'],
    // Dot segments, empty segments, other delimiters.
    ['/git/projects/a%2F..', 400, 'request.path'],
    ['/git/projects/a%2F..%2Fb', 400, 'request.path'],
    ['/git/projects/..%2Fadmin', 400, 'request.path'],
    ['/git/projects/a%2F%20..%2Fb', 400, 'request.path'],
    ['/git/projects/a%2F%E2%80%8B..%2Fb', 400, 'request.path'],
    ['/git/projects/%2Fa', 400, 'request.path'],
    ['/git/projects/a%2F%2Fb', 400, 'request.path'],
    ['/git/projects/a%2F/', 400, 'request.path'],
    ['/git/projects/a%5Cb', 400, 'request.path'],
    ['/git/projects/a%252Fb', 400, 'request.path'],
    ['/git/projects/a%2Fb%3Bc', 400, 'request.path'],
    ['/git/projects/a%2Fb%00', 400, 'request.path'],
    ['/git/projects/a%C0%AFb', 400, 'request.path'],
  ] as const)('%s is refused', async ([path, status, reason]) => {
    world.upstream.seen.splice(0);
    const answer = await world.sendRaw(
      `GET ${path} HTTP/1.1`,
      'Host: gateway.test',
      'Connection: close',
      `Authorization: Bearer ${await world.token()}`,
    );
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(answer).toContain(reason);
    expect(world.upstream.seen).toEqual([]);
  });
});

test('without it, the refusal names the key', async () => {
  const token = await world.token();
  for (const path of ['/plain/a%2Fb', '/nowhere/a%2fb', '/git/admin/a%2Fb']) {
    expect((await world.send(path, { token })).status).toBe(400);
    const line = await world.gateway.decision({ reason: 'request.path' });
    expect(line.detail).toContain('set encoded_slashes: pass on the http route');
  }
});
