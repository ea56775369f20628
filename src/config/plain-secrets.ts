import type { Path, Problem } from './problems.ts';
import { isSecret } from './keys.ts';
import { problemIn, type YamlFile } from './yaml-file.ts';

/** The secrets that a configuration file itself holds, each with its place. None is shown. */
export function plainSecrets(file: YamlFile): readonly Problem[] {
  return stringsIn(file.value, []).flatMap(({ path, text }) => {
    const what = isSecret(path) && isConfidential(path, text) ? exposure(text) : undefined;
    return what === undefined ? [] : [problemIn(file, { path, part: 'value', message: `${what}; ${remedy}` })];
  });
}

const remedy = 'keep it in the environment or in a file, as ${env:NAME} or ${file:PATH}';

/** How a file exposes a secret; undefined if it only names where the secret is. */
function exposure(text: string): string | undefined {
  if (!text.includes('${')) return 'a secret in plain text';
  return /\$\{env:[^}]*?:-[^}]/.test(text) ? 'a secret as the default of a placeholder' : undefined;
}

/** Whether a value in a secret place is a secret: the URL of the store without a password, or a key's name, is none. */
function isConfidential(path: Path, text: string): boolean {
  if (path.includes('client_key')) return text.includes('PRIVATE KEY');
  return path[0] !== 'shared' || /:\/\/[^/]*@|[?&]sentinel_password=./.test(text);
}

function stringsIn(value: unknown, path: Path): readonly { readonly path: Path; readonly text: string }[] {
  if (typeof value === 'string') return [{ path, text: value }];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) =>
    stringsIn(inner, [...path, Array.isArray(value) ? Number(key) : key]),
  );
}
