import { spawnSync } from 'node:child_process';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Deployment } from 'kubernetes-types/apps/v1.js';
import type { ConfigMap, Container, PodSpec } from 'kubernetes-types/core/v1.js';
import { parseAllDocuments } from 'yaml';
import type { ConfigMapVolume } from './kubelet.ts';

const root = new URL('../../', import.meta.url).pathname;

/** Where the chart is. */
export const chart = join(root, 'deploy/helm/sallyport');

/** Helm: on the PATH, or as .ci/helm brings it; undefined where there is none. */
export const helm = [
  'helm',
  join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'sallyport/helm-4.1.4/helm'),
].find((command) => spawnSync(command, ['version']).status === 0);

if (helm === undefined) process.stdout.write('Helm is not here (.ci/helm brings it): the chart is not tested\n');

/** One object of Kubernetes. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
}

/** What Helm ends with. */
export interface HelmOutcome {
  readonly code: number | null;
  readonly stdout: string;
  /** Without Helm's own advice. */
  readonly stderr: string;
}

/** Runs Helm on the chart with these values. */
export function runHelm(command: readonly string[], values: unknown, place = chart): HelmOutcome {
  const { status, stdout, stderr } = spawnSync(helm ?? 'helm', [...command, place, '--values', '-'], {
    input: JSON.stringify(values),
    encoding: 'utf8',
  });
  return { code: status, stdout, stderr: stderr.replace(/\n*Use --debug flag.*\n/, '\n') };
}

/** The objects that the chart makes of these values. */
export function manifests(values: unknown, place = chart): readonly Manifest[] {
  const { code, stdout, stderr } = runHelm(['template', 'gw'], values, place);
  if (code !== 0) throw new Error(stderr);
  return parseAllDocuments(stdout).map((document) => document.toJS() as Manifest);
}

/** The first object of a kind. */
export const kind = (objects: readonly Manifest[], name: string): unknown => objects.find((each) => each.kind === name);

/** What the Deployment runs. */
export function podOf(objects: readonly Manifest[]): { spec: PodSpec; container: Container } {
  const spec = (kind(objects, 'Deployment') as Deployment).spec?.template.spec;
  const container = spec?.containers[0];
  if (spec === undefined || container === undefined) throw new Error('no pod');
  return { spec, container };
}

/** The volume that the gateway reads its configuration from. */
export function volumeOf(objects: readonly Manifest[]): ConfigMapVolume {
  const items = podOf(objects).spec.volumes?.find(({ name }) => name === 'config')?.configMap?.items ?? [];
  return { data: (kind(objects, 'ConfigMap') as ConfigMap).data ?? {}, items };
}
