import { jsonEscapes } from '../../core/lib/wording.ts';

/** A word or a duration that YAML reads as itself, in a flow too. Any other text is quoted: JSON strings are YAML. */
const plain = /^(?:[0-9]+(?:ms|s|m|h)|(?!(?:null|true|false|yes|no|on|off|y|n)$)[A-Za-z_][\w -]*(?<! ))$/i;

/** A JSON value as YAML in one line, as `{ scope: read payments, claims: { role: trader } }`. */
export function flowYaml(value: unknown): string {
  if (typeof value === 'string') return plain.test(value) ? value : quoted(value);
  if (typeof value === 'number') return Number.isFinite(value) ? JSON.stringify(value) : '.inf';
  if (typeof value !== 'object' || value === null) return String(value);
  if (Array.isArray(value)) return `[${value.map(flowYaml).join(', ')}]`;
  const members = Object.entries(value).map(([key, inner]) => `${flowYaml(key)}: ${flowYaml(inner)}`);
  return members.length === 0 ? '{}' : `{ ${members.join(', ')} }`;
}

/** Without a character that a terminal or a reader of YAML could obey. */
function quoted(text: string): string {
  return JSON.stringify(text).replaceAll(/[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu, jsonEscapes);
}
