import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { violations } from '../../src/config/schema.ts';
import { outcome, sallyport } from '../serve/process.ts';

const files = [
  'gateway.yaml',
  'policies/tools.yaml',
  'policies/tools.test.yaml',
  'schema/gateway.schema.json',
  'schema/policy.schema.json',
  'schema/policy-test.schema.json',
];
const composed = [...files, 'docker-compose.yml', 'prometheus.yml'];

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sallyport-init-'));
});
afterEach(async () => {
  await rm(folder, { recursive: true });
});

async function filesIn(place: string): Promise<readonly string[]> {
  const entries = await readdir(place, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(place.length + 1))
    .toSorted();
}

describe('an empty folder', () => {
  test('gets a configuration that passes check unchanged', async () => {
    expect(await outcome(['init'], folder)).toEqual({
      code: 0,
      stdout: `wrote
${files.map((file) => `  ${file}\n`).join('')}
Replace every value marked CHANGE, then run
  npx sallyport check
  npx sallyport test
  npx sallyport serve
`,
      stderr: '',
    });
    expect(await filesIn(folder)).toEqual(files.toSorted());
    expect(await outcome(['check'], folder)).toEqual({
      code: 0,
      stdout: 'gateway.yaml: 1 route, 1 policy: ok\n',
      stderr: '',
    });
    const { code, stdout } = await outcome(['test', '--require-coverage'], folder);
    expect({ code, last: stdout.trimEnd().split('\n').at(-1) }).toEqual({
      code: 0,
      last: '10 passed, 0 failed; 7 of 7 rules decided by a test',
    });
  });

  test('gets a configuration that serves and challenges a client', async () => {
    await outcome(['init'], folder);
    const env = { GATEWAY_LISTEN: '127.0.0.1:0', GATEWAY_ADMIN: 'off' };
    const gateway = sallyport(['serve'], folder, { env });
    const [, url] = await gateway.says(/"msg":"listening","url":"([^"]+)"/);
    const answer = await fetch(`${url}/mcp`, { headers: { host: '127.0.0.1:8080' } });
    expect(answer.status).toBe(401);
    expect(answer.headers.get('www-authenticate')).toBe(
      'Bearer error="invalid_token", scope="read", resource_metadata="http://127.0.0.1:8080/.well-known/oauth-protected-resource/mcp"',
    );
    gateway.signal('SIGTERM');
    expect(await gateway.ended).toBe(0);
  });

  test('gets the schemas that the first lines name', async () => {
    await outcome(['init'], folder);
    for (const file of files.slice(0, 3)) {
      const [, schema] =
        /^# yaml-language-server: \$schema=(\S+)\n/.exec(await readFile(join(folder, file), 'utf8')) ?? [];
      expect(JSON.parse(await readFile(join(folder, file, '..', schema ?? ''), 'utf8'))).toHaveProperty('$schema');
    }
  });

  test('prints the cd command for another folder', async () => {
    const { code, stdout } = await outcome(['init', "it's/new"], folder);
    expect(code).toBe(0);
    expect(stdout).toContain("\n  it's/new/gateway.yaml\n");
    expect(stdout).toContain("\n  cd 'it'\\''s/new'\n  npx sallyport check\n");
    expect(await filesIn(join(folder, "it's/new"))).toEqual(files.toSorted());
  });
});

describe('what it writes', () => {
  test('has comments with keys that all work when they are enabled', async () => {
    await outcome(['init'], folder);
    const text = await readFile(join(folder, 'gateway.yaml'), 'utf8');
    // A commented line of YAML, not of prose: it is indented like its neighbours, and says `key:` or `- name:`.
    const on = text.replaceAll(/^( *)# ((?: *)(?:- )?[a-z_]+:(?: [^A-Z].*)?)$/gm, '$1$2');
    expect(on).toContain('\n    introspection:\n      client_id: gateway\n');
    expect(on).toContain('\nsession_key: ${env:SESSION_KEY}\n');
    expect(on).toContain('\n  - name: api\n    path: /api\n');
    expect(violations('gateway', parse(on))).toEqual([]);
    await writeFile(join(folder, 'gateway.yaml'), on);
    const env = { SESSION_KEY: 'mD0uyd6KWfZ3xr1Q9vJb4TgHnPsL8cAe', GATEWAY_CLIENT_SECRET: 's3cret' };
    expect(await outcome(['check'], folder, { env })).toMatchObject({ code: 0, stderr: '' });
  });

  test('contains no secret, but names the source of each', async () => {
    await outcome(['init', '--compose'], folder);
    for (const file of composed.filter((each) => each.endsWith('l'))) {
      for (const [, value] of (await readFile(join(folder, file), 'utf8')).matchAll(
        /(?:secret|session_key): *(.*)/gi,
      )) {
        expect(value).toMatch(/^\$\{/);
      }
    }
  });
});

describe('--compose', () => {
  test('adds the gateway in front of a server that nothing else can reach', async () => {
    const { code, stdout } = await outcome(['init', '--compose'], folder);
    expect(code).toBe(0);
    expect(stdout).toMatch(/\n {2}docker compose up\n$/);
    expect(await filesIn(folder)).toEqual(composed.toSorted());
    const { services, networks } = parse(await readFile(join(folder, 'docker-compose.yml'), 'utf8'), { merge: true });
    expect(networks.upstreams).toEqual({ internal: true });
    expect(services['mcp-server']).toMatchObject({ image: 'your-server', networks: ['upstreams'] });
    expect(services['mcp-server']).not.toHaveProperty('ports');
    expect(Object.keys(services.gateway.networks)).toEqual(['admin', 'front', 'upstreams']);
    expect(services.gateway.volumes).toEqual(['.:/config:ro']);
    expect(services.gateway.healthcheck.test).toContain('CMD');
    for (const service of Object.values(services)) {
      expect(service).toMatchObject({ read_only: true, cap_drop: ['ALL'] });
    }
    const { environment } = services.gateway;
    const env = Object.fromEntries(
      Object.entries<string>(environment).map(([name, value]) => [name, value.replace(/^\$\{\w+:-(.*)\}$/, '$1')]),
    );
    expect(await outcome(['check'], folder, { env })).toMatchObject({ code: 0, stderr: '' });
  });
});

describe('existing files', () => {
  test('are listed, and init writes nothing', async () => {
    await mkdir(join(folder, 'policies'));
    await writeFile(join(folder, 'policies/tools.yaml'), 'mine');
    // Writing would follow it.
    await symlink(join(folder, 'elsewhere'), join(folder, 'gateway.yaml'));
    expect(await outcome(['init', '--compose'], folder)).toEqual({
      code: 1,
      stdout: '',
      stderr: 'sallyport: nothing was written: these files exist already\n  gateway.yaml\n  policies/tools.yaml\n',
    });
    expect(await filesIn(folder)).toEqual(['policies/tools.yaml']);
    expect(await readFile(join(folder, 'policies/tools.yaml'), 'utf8')).toBe('mine');
  });

  test('with other names do not matter', async () => {
    await writeFile(join(folder, 'package.json'), '{}');
    expect(await outcome(['init'], folder)).toMatchObject({ code: 0 });
  });

  test('in the place of a folder are reported in one line', async () => {
    await writeFile(join(folder, 'policies'), '');
    const { code, stdout, stderr } = await outcome(['init'], folder);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^sallyport: ENOTDIR: .*policies.*\n$/);
  });
});
