import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Deployment } from 'kubernetes-types/apps/v1.js';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import packageJson from '../../package.json' with { type: 'json' };
import { config, frontDoor, full, good, tools } from './chart-values.ts';
import { chart, helm, kind, manifests, type Manifest, podOf, runHelm, volumeOf } from './helm.ts';
import { typeErrors } from './kubernetes-types.ts';

const kinds = (objects: readonly Manifest[]) => objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
test('the chart has the version of the release that it installs', async () => {
  const text = await readFile(join(chart, 'Chart.yaml'), 'utf8');
  expect(parse(text)).toMatchObject({ version: packageJson.version, appVersion: packageJson.version });
});

describe.skipIf(helm === undefined)('what it makes', () => {
  test('has only known fields of Kubernetes, and passes helm lint', () => {
    for (const values of [good, full, { ...good, replicas: 1, networkPolicy: { enabled: false } }]) {
      expect(typeErrors(manifests(values))).toBe('');
      expect(runHelm(['lint', '--strict'], values)).toMatchObject({ code: 0 });
    }
    // An unknown field is reported.
    const [first] = manifests(good);
    expect(typeErrors([{ ...first, spec: { podSelektor: {} } } as unknown as Manifest])).toContain('podSelektor');
  });

  test('has two replicas that are drained one by one, and a network policy, by default', () => {
    const objects = manifests(good);
    expect(kinds(objects).toSorted()).toEqual([
      'ConfigMap gw-sallyport',
      'Deployment gw-sallyport',
      'NetworkPolicy gw-sallyport',
      'PodDisruptionBudget gw-sallyport',
      'Service gw-sallyport',
      'Service gw-sallyport-admin',
      'ServiceAccount gw-sallyport',
    ]);
    expect(kind(objects, 'Deployment')).toMatchObject({ spec: { replicas: 2 } });
    expect(kind(objects, 'PodDisruptionBudget')).toMatchObject({ spec: { maxUnavailable: 1 } });
    // Only the kubelet reaches the admin listener.
    expect(kind(objects, 'NetworkPolicy')).toMatchObject({
      spec: { policyTypes: ['Ingress'], ingress: [{ ports: [{ port: 'http' }] }] },
    });
  });

  test('runs without privileges, on a read-only file system', () => {
    const { spec, container } = podOf(manifests(good));
    expect(spec).toMatchObject({
      automountServiceAccountToken: false,
      terminationGracePeriodSeconds: 30,
      securityContext: { runAsNonRoot: true, runAsUser: 1000, seccompProfile: { type: 'RuntimeDefault' } },
    });
    expect(container.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
    expect(spec.topologySpreadConstraints?.map(({ topologyKey }) => topologyKey)).toEqual([
      'topology.kubernetes.io/zone',
      'kubernetes.io/hostname',
    ]);
    for (const probe of [container.livenessProbe, container.readinessProbe, container.startupProbe]) {
      expect(probe?.httpGet?.port).toBe('admin');
    }
    expect(container.lifecycle?.preStop).toEqual({ sleep: { seconds: 5 } });
    expect(container.volumeMounts).toEqual([{ name: 'config', mountPath: '/config', readOnly: true }]);
  });

  test('reads secrets from Secrets', () => {
    const { spec, container } = podOf(manifests(full));
    expect(container.image).toBe(`registry.example/sallyport@sha256:${'a'.repeat(64)}`);
    const fromSecret = (secret: string, key: string) => ({ valueFrom: { secretKeyRef: { name: secret, key } } });
    expect(container.env).toEqual([
      { name: 'GATEWAY_ADMIN', value: '0.0.0.0:9090' },
      { name: 'GATEWAY_LISTEN', value: '0.0.0.0:8080' },
      { name: 'ISSUER', value: 'https://login.example' },
      { name: 'TIMES', value: '3' },
      { name: 'GATEWAY_CLIENT_SECRET', ...fromSecret('credentials', 'client-secret') },
      { name: 'SALLYPORT_ADMIN_TOKEN', ...fromSecret('operators', 'admin-token') },
      { name: 'SESSION_KEY', ...fromSecret('keys', 'session-key') },
      { name: 'SHARED_URL', ...fromSecret('redis', 'url') },
    ]);
    expect(container.volumeMounts).toContainEqual({
      name: 'secret-tls',
      mountPath: '/run/secrets/tls',
      readOnly: true,
    });
    const mounted = { name: 'secret-tls', secret: { secretName: 'gateway-tls', defaultMode: 0o440 } };
    expect(spec.volumes).toContainEqual(mounted);
  });

  test('has an autoscaler and a ServiceMonitor if enabled', () => {
    const objects = manifests(full);
    expect(kind(objects, 'HorizontalPodAutoscaler')).toMatchObject({ spec: { minReplicas: 2, maxReplicas: 10 } });
    expect((kind(objects, 'Deployment') as Deployment).spec).not.toHaveProperty('replicas');
    const labels = { 'app.kubernetes.io/component': 'admin', 'app.kubernetes.io/instance': 'gw' };
    expect(kind(objects, 'ServiceMonitor')).toMatchObject({
      metadata: { labels: { release: 'prometheus' } },
      spec: { selector: { matchLabels: labels }, endpoints: [{ port: 'admin', path: '/metrics' }] },
    });
    expect(kinds(manifests({ ...good, replicas: 1 }))).not.toContain('PodDisruptionBudget gw-sallyport');
  });

  test('leads the host names of the gateway and of its front door to their Services, by an Ingress or HTTPRoutes', () => {
    const withDoor = { ...good, shared: { existingSecret: 'redis' }, config: `${config}${frontDoor}` };
    const hosts = { enabled: true, host: 'mcp.example.com', frontDoorHost: 'signin.example.com' };
    const byIngress = manifests({ ...withDoor, ingress: { ...hosts, className: 'nginx', tlsSecret: 'mcp-tls' } });
    expect(typeErrors(byIngress)).toBe('');
    const rule = (host: string, name: string) => ({
      host,
      http: { paths: [{ path: '/', pathType: 'Prefix', backend: { service: { name, port: { name: 'http' } } } }] },
    });
    expect(kind(byIngress, 'Ingress')).toMatchObject({
      spec: {
        ingressClassName: 'nginx',
        tls: [{ hosts: ['mcp.example.com', 'signin.example.com'], secretName: 'mcp-tls' }],
        rules: [rule('mcp.example.com', 'gw-sallyport'), rule('signin.example.com', 'gw-sallyport-front-door')],
      },
    });
    const parentRefs = [{ name: 'public', namespace: 'gateways' }];
    const routes = manifests({ ...withDoor, httpRoute: { ...hosts, parentRefs } }).filter(
      (each) => each.kind === 'HTTPRoute',
    );
    expect(routes).toMatchObject(
      [
        ['mcp.example.com', 'gw-sallyport'],
        ['signin.example.com', 'gw-sallyport-front-door'],
      ].map(([host, name]) => ({
        metadata: { name },
        spec: { parentRefs, hostnames: [host], rules: [{ backendRefs: [{ name, port: 8080 }] }] },
      })),
    );
  });

  test('has a Service for the front door, if there is one', () => {
    const shared = { existingSecret: 'redis' };
    const objects = manifests({ ...good, shared, config: `${config}${frontDoor}` });
    expect(typeErrors(objects)).toBe('');
    expect(objects).toContainEqual(
      expect.objectContaining({
        kind: 'Service',
        metadata: expect.objectContaining({ name: 'gw-sallyport-front-door' }) as unknown,
        spec: expect.objectContaining({ ports: [{ name: 'http', port: 8080, targetPort: 'front-door' }] }) as unknown,
      }),
    );
    expect(podOf(objects).container.ports).toContainEqual({ name: 'front-door', containerPort: 8090 });
    expect(kind(objects, 'NetworkPolicy')).toMatchObject({
      spec: { ingress: [{ ports: [{ port: 'http' }, { port: 'front-door' }] }] },
    });
  });

  test('adds to gateway.yaml only keys that the file lacks', () => {
    const bare = config.replace(/^listen: .*\n/m, '').replace(/^admin:\n(?: .*\n)+/m, '');
    const said = (values: object): unknown =>
      parse(volumeOf(manifests({ ...good, ...values })).data['gateway.yaml'] ?? '');
    expect(
      said({ config: bare, shared: { existingSecret: 'redis' }, ports: { http: 8000, admin: 9000 } }),
    ).toMatchObject({
      listen: '0.0.0.0:8000',
      admin: { listen: '0.0.0.0:9000' },
      session_key: '${env:SESSION_KEY}',
      shared: '${env:SHARED_URL}',
    });
    expect(said({ config: bare, adminToken: { existingSecret: 'operators' } })).toMatchObject({
      admin: { listen: '0.0.0.0:9090', token: '${env:SALLYPORT_ADMIN_TOKEN}' },
    });
    const own = `${config}session_key: \${file:/run/secrets/keys/session}\n`;
    expect(said({ config: own, sessionKey: {} })).toMatchObject({ session_key: '${file:/run/secrets/keys/session}' });
    expect(said({ replicas: 1, sessionKey: {} })).not.toHaveProperty('session_key');
  });

  test('copies policies unchanged', () => {
    // A YAML 1.1 reader makes `false` of it, and "1_000" a number; the first line is indented.
    const policy = '  # Nordic\n  scope: read\n  claims: { country: [SE, NO], id: 1_000 }\n\n';
    const { data } = volumeOf(manifests({ ...good, policies: { tools, nordic: policy } }));
    expect(data['policies.tools.yaml']).toBe(tools);
    expect(data['policies.nordic.yaml']?.trimEnd()).toBe(policy.trimEnd());
  });
});
