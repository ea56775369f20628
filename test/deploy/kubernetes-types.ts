import { execFileSync } from 'node:child_process';
import { mkdtempSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Manifest } from './helm.ts';

const root = new URL('../../', import.meta.url).pathname;

/** Where the types of each kind are. */
const modules: Readonly<Record<string, string>> = {
  v1: 'core/v1',
  'apps/v1': 'apps/v1',
  'autoscaling/v2': 'autoscaling/v2',
  'networking.k8s.io/v1': 'networking/v1',
  'policy/v1': 'policy/v1',
};

/** What Kubernetes' own types say against objects: unknown fields, missing ones, wrong types; empty when nothing. */
export function typeErrors(objects: readonly Manifest[]): string {
  const known = objects.filter(({ apiVersion }) => modules[apiVersion] !== undefined);
  const lines = known.map(
    (object, index) =>
      `import type { ${object.kind} as T${index} } from 'kubernetes-types/${modules[object.apiVersion]}';\n` +
      `export const ${object.kind}${index}: T${index} = ${JSON.stringify(object)};\n`,
  );
  const own = mkdtempSync(join(tmpdir(), 'sallyport-manifests-'));
  try {
    symlinkSync(join(root, 'node_modules'), join(own, 'node_modules'));
    writeFileSync(join(own, 'manifests.ts'), lines.join(''));
    const options = ['--noEmit', '--strict', '--skipLibCheck', '--module', 'esnext', '--moduleResolution', 'bundler'];
    execFileSync(join(root, 'node_modules/.bin/tsc'), [...options, '--types', '', 'manifests.ts'], { cwd: own });
    return '';
  } catch (error) {
    return String((error as { stdout?: unknown }).stdout ?? error);
  }
}
