import { cp, mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { outcome } from '../commands/run.ts';
import { sallyport } from '../serve/process.ts';
import { config, good, tools } from './chart-values.ts';
import { chart, helm, manifests, podOf, volumeOf } from './helm.ts';
import { project } from './kubelet.ts';

describe.skipIf(helm === undefined)('in a pod', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sallyport-pod-'));
  });

  test('the chart may contain the files itself', async () => {
    const own = join(folder, 'chart');
    await cp(chart, own, { recursive: true });
    await mkdir(join(own, 'files/policies'), { recursive: true });
    await writeFile(join(own, 'files/gateway.yaml'), config);
    await writeFile(join(own, 'files/policies/tools.yaml'), tools);
    await writeFile(join(own, 'files/policies/tools.test.yaml'), 'x');
    const { data } = volumeOf(manifests({ sessionKey: { existingSecret: 'keys' } }, own));
    expect(Object.keys(data).toSorted()).toEqual(['gateway.yaml', 'policies.tools.yaml']);
    expect(data['policies.tools.yaml']).toBe(tools);
  });

  test('the gateway starts, and applies an edit without a restart', async () => {
    const values = { ...good, env: { ISSUER: 'https://login.example' } };
    const { container } = podOf(manifests(values));
    const env: NodeJS.ProcessEnv = { SESSION_KEY: 'mD0uyd6KWfZ3xr1Q9vJb4TgHnPsL8cAe' };
    for (const { name, value } of container.env ?? []) if (value !== undefined) env[name] = value;
    project(folder, volumeOf(manifests(values)));
    const args = (container.args ?? []).map((arg) => arg.replace('/config', folder));
    expect(await outcome(['check', '--config', `${folder}/gateway.yaml`], folder, { env })).toMatchObject({ code: 0 });

    const gateway = sallyport(args, folder, { env: { ...env, GATEWAY_LISTEN: '127.0.0.1:0', GATEWAY_ADMIN: 'off' } });
    const [, url] = await gateway.says(/"msg":"listening","url":"([^"]+)"/);
    const challenge = async () => (await fetch(`${url}/mcp`)).headers.get('www-authenticate');
    expect(await challenge()).toContain('scope="read"');
    const edited = { ...values, policies: { tools: tools.replace('scope: read', 'scope: enter') } };
    project(folder, volumeOf(manifests(edited)));
    await gateway.says(/"msg":"configuration reloaded"|"msg":"configuration in force"/);
    expect(await challenge()).toContain('scope="enter"');
    gateway.signal('SIGTERM');
    expect(await gateway.ended).toBe(0);
  });
});
