import { readFile, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { load } from '../../src/serve/config/load.ts';

const root = new URL('../../', import.meta.url).pathname;
const read = (name: string) => readFile(join(root, name), 'utf8');

interface Service {
  readonly build?: { readonly target: string };
  readonly image: string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly volumes?: readonly string[];
  readonly ports?: readonly string[];
  readonly networks: readonly string[] | Readonly<Record<string, { readonly aliases: readonly string[] } | null>>;
  readonly healthcheck?: { readonly test: readonly string[] };
  readonly [key: string]: unknown;
}

const dockerfile = await read('Dockerfile');
const ignored = (await read('.dockerignore')).split('\n');
const compose = parse(await read('docker-compose.yml'), { merge: true }) as {
  readonly services: Readonly<Record<string, Service>>;
  readonly networks: unknown;
};
const { services } = compose;

/** The lines of one stage of the Dockerfile. */
function stage(name: string): string {
  const found = dockerfile.split(/^(?=FROM )/m).find((text) => new RegExp(`^FROM \\S+ AS ${name}\n`).test(text));
  if (found === undefined) throw new Error(`no stage ${name}`);
  return found;
}

const copied = (text: string) =>
  [...text.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, names = '']) => names.split(' '));

describe('the image', () => {
  test('gets only the files that it copies from the folder', async () => {
    expect(ignored).toContain('*');
    for (const name of copied(dockerfile)) {
      expect(ignored).toContain(`!${name}`);
      await expect(stat(join(root, name))).resolves.toBeDefined();
    }
    expect(ignored.filter((line) => /^!(?:gateway\.yaml|policies|\.env|\.git)/.test(line))).toEqual([]);
  });

  test('has every file that the sources read outside of src/', () => {
    expect(copied(stage('development'))).toContain('src');
    expect(copied(stage('bundle'))).toEqual(['deploy/bundle.config.ts', 'schema']);
    expect(copied(stage('gateway')).toSorted()).toEqual(['package.json', 'schema', 'templates']);
    expect(stage('gateway')).toContain('--from=bundle /app/bundle ./bundle');
  });

  test('has no development packages, runs without privileges, and has a health check', () => {
    expect(stage('dependencies')).toContain('npm ci --omit=dev --ignore-scripts');
    expect(stage('dependencies')).toContain('> sbom.cdx.json');
    expect(stage('gateway')).toMatch(/^USER 1000:1000$/m);
    expect(stage('gateway')).toMatch(/^HEALTHCHECK /m);
    expect(stage('gateway')).not.toContain('npm');
  });
});

describe.each([
  ['docker-compose.yml', 'gateway.yaml', 'deploy/prometheus/prometheus.yml'],
  ['templates/docker-compose.yml', 'templates/gateway.yaml', 'templates/prometheus.yml'],
])('the admin listener of %s', (composeFile, gatewayFile, prometheusFile) => {
  const name = 'sallyport-admin';

  test('is bound to a name that exists only on the network `admin`, without upstreams or clients', async () => {
    const { services, networks } = parse(await read(composeFile), { merge: true }) as typeof compose;
    const { GATEWAY_ADMIN } = services['gateway']?.environment ?? {};
    const { config } = await load(join(root, gatewayFile), { GATEWAY_ADMIN });
    expect(config.admin).toEqual({ listen: { host: name, port: 9090 }, hosts: [], token: undefined });
    expect(services['gateway']?.networks).toEqual({ admin: { aliases: [name] }, front: null, upstreams: null });
    const others = Object.entries(services).filter(([, { networks }]) => Object.values(networks).includes('admin'));
    expect(others.map(([service]) => service)).toEqual(['prometheus']);
    // Docker publishes the ports of a container on the first of its networks by name.
    expect(Object.keys(networks as object).toSorted()[0]).toBe('admin');
    expect(services['gateway']?.healthcheck?.test.join(' ')).toContain(`http://${name}:9090/healthz`);
    expect(await read(prometheusFile)).toContain(`targets: ['${name}:9090']`);
  });

  test('has a token only if the operator sets one', async () => {
    const { services } = parse(await read(composeFile), { merge: true }) as typeof compose;
    expect(services['gateway']?.environment).toMatchObject({
      SALLYPORT_ADMIN_TOKEN: '${SALLYPORT_ADMIN_TOKEN:-}',
    });
  });
});

describe('docker-compose.front-door.yml', async () => {
  const more = parse(await read('docker-compose.front-door.yml'), { merge: true }) as typeof compose;
  const environmentOf = (name: string) => ({ ...more.services[name]?.environment, SESSION_KEY: undefined });

  test('runs the gateway and the front door apart, with one configuration that agrees on both', async () => {
    expect(more.services['gateway']?.['command']).toContain('--without-front-door');
    const [gateway, frontDoor] = await Promise.all(
      ['gateway', 'front-door'].map(async (name) => {
        const env = { ...services[name]?.environment, ...environmentOf(name) };
        return (await load(join(root, 'demo/front-door/gateway.yaml'), env)).config;
      }),
    );
    expect(gateway?.frontDoor?.gatewaySecret).toBe(frontDoor?.frontDoor?.gatewaySecret);
    expect(gateway?.frontDoor?.server).toEqual(frontDoor?.frontDoor?.server);
    expect(gateway?.publicUrl).toBe(frontDoor?.publicUrl);
    expect(frontDoor?.frontDoor?.listen).toEqual({ host: '0.0.0.0', port: 8090 });
  });

  test('gives its services only the rights that they need, on loopback, without the admin network', () => {
    for (const name of ['front-door', 'company-provider']) {
      const service = more.services[name];
      expect(service).toMatchObject({ read_only: true, cap_drop: ['ALL'], networks: ['front'] });
      for (const port of service?.ports ?? []) expect(port).toMatch(/^127\.0\.0\.1:/);
      expect(service?.healthcheck?.test[0]).toBe('CMD');
    }
  });
});

describe('docker-compose.yml', () => {
  test('starts the gateway with a valid configuration', async () => {
    const { config } = await load(join(root, 'gateway.yaml'), services['gateway']?.environment ?? {});
    expect(config).toMatchObject({ listen: { host: '0.0.0.0' } });
  });

  test('mounts the folder of gateway.yaml, because a mounted file misses an edit that renames', () => {
    expect(services['gateway']).toMatchObject({ volumes: ['.:/config:ro'], stop_grace_period: '15s' });
    expect(stage('gateway')).toMatch(/^WORKDIR \/config\nENTRYPOINT /m);
  });

  test('lets only the gateway reach the upstreams', () => {
    expect(compose.networks).toMatchObject({ upstreams: { internal: true } });
    for (const name of ['mcp-server', 'backend']) {
      expect(services[name]).toMatchObject({ networks: ['upstreams'] });
      expect(services[name]).not.toHaveProperty('ports');
    }
    // Other machines cannot reach the published ports.
    for (const { ports = [] } of Object.values(services))
      for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:/);
  });

  test('gives each service only the rights that it needs, and a health check', () => {
    for (const service of Object.values(services)) {
      expect(service).toMatchObject({ read_only: true, cap_drop: ['ALL'], restart: 'unless-stopped' });
      expect(service.healthcheck?.test[0]).toBe('CMD');
    }
  });

  test('mounts files that exist, and for Prometheus and Grafana those that their configurations name', async () => {
    const mounts = Object.values(services)
      .flatMap(({ volumes = [] }) => volumes)
      .map((volume) => volume.split(':'));
    for (const [from = ''] of mounts) if (/^[.\w]+[/.]/.test(from)) await stat(join(root, from));
    const mounted = new Map(mounts.map(([from = '', to = '']) => [to, from]));
    const config = parse(await read('deploy/prometheus/prometheus.yml')) as { rule_files: readonly string[] };
    for (const file of config.rule_files) expect([...mounted.keys()]).toContain(`/etc/prometheus/${file}`);
    const home = services['grafana']?.environment?.['GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH'] ?? '';
    expect(mounted.get(home)).toBe('./deploy/grafana/sallyport.json');
    const sources = join(mounted.get('/etc/grafana/provisioning/datasources') ?? '', 'prometheus.yml');
    expect(parse(await read(sources))).toMatchObject({
      datasources: [{ type: 'prometheus', url: 'http://prometheus:9090', isDefault: true }],
    });
    const dashboards = join(mounted.get('/etc/grafana/provisioning/dashboards') ?? '', 'sallyport.yml');
    expect(parse(await read(dashboards))).toMatchObject({ providers: [{ options: { path: dirname(home) } }] });
  });

  test('gives Grafana no account, and reaches it over the network of Prometheus alone', () => {
    const { networks, environment } = services['grafana'] ?? {};
    expect(networks).toEqual(['monitoring']);
    expect(services['prometheus']?.networks).toContain('monitoring');
    expect(environment).toMatchObject({
      GF_AUTH_DISABLE_LOGIN_FORM: 'true',
      GF_SECURITY_DISABLE_INITIAL_ADMIN_CREATION: 'true',
    });
    expect(environment).not.toHaveProperty('GF_AUTH_ANONYMOUS_ORG_ROLE');
  });
});

test.each(['docker-compose.yml', 'templates/docker-compose.yml'])(
  '%s pins each image of another project',
  async (name) => {
    const { services } = parse(await read(name), { merge: true }) as typeof compose;
    const ours = /^(?:sallyport|sallyport-demo|\$\{SALLYPORT_IMAGE:-sallyport\}|your-server)$/;
    const images = Object.values(services).flatMap(({ image }) => (ours.test(image) ? [] : [image]));
    expect(images.length).toBeGreaterThan(0);
    for (const image of images) expect(image).toMatch(/^[\w./-]+:v?\d+\.\d+\.\d+$/);
  },
);
