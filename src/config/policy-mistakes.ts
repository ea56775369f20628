import { describeValue } from '../lib/json/describe-value.ts';
import { conditionsIn, matchedPatterns, type PolicyDocument } from '../policy/document.ts';
import type { Path } from './problems.ts';
import type { Violation } from './schema.ts';

/** What a policy that its schema accepts says, but hardly means. */
export interface PolicyMistakes {
  /** What no caller could satisfy. */
  readonly faults: readonly Violation[];
  /** What may be meant. */
  readonly warnings: readonly Violation[];
}

/** Finds commas in scopes, slashes around regular expressions, and parameters in paths. */
export function mistakesIn(document: PolicyDocument): PolicyMistakes {
  const faults: Violation[] = [];
  const warnings: Violation[] = [];
  for (const { path, condition } of conditionsIn(document)) {
    const { scope } = condition;
    if (scope === undefined) continue;
    const at = [...path, 'scope'];
    const fault = commasBetween(scope, at);
    if (fault !== undefined) faults.push(fault);
    else
      warnings.push(
        ...[scope].flat().flatMap((text, index) => commaWithin(text, scope === text ? at : [...at, index])),
      );
  }
  for (const { path, source } of matchedPatterns(document)) {
    const { fault, warning } = slashesAround(source);
    if (fault !== undefined) faults.push({ path, part: 'value', message: fault });
    else if (warning !== undefined) warnings.push({ path, part: 'value', message: warning });
  }
  for (const name of Object.keys(document.requests ?? {})) {
    const [parameter] = /(?<=\/):[A-Za-z_]\w*(?=\/|$)/.exec(name) ?? [];
    if (parameter === undefined) continue;
    const message = `covers only the path with ${JSON.stringify(parameter)} itself; write * for any segment`;
    warnings.push({ path: ['requests', name], part: 'key', message });
  }
  return { faults, warnings };
}

/** Scopes are separated by spaces: with commas besides, each is another scope than the one that tokens have. */
export function commasBetween(scope: string | readonly string[], path: Path): Violation | undefined {
  if (typeof scope !== 'string' || !/, | ,/.test(scope)) return undefined;
  return { path, part: 'value', message: `${describeValue(scope)} has commas between scopes; write ${split(scope)}` };
}

/** RFC 6749 §3.3 allows a comma in a scope. */
function commaWithin(scope: string, path: Path): readonly Violation[] {
  if (!scope.includes(',')) return [];
  const meant = split(scope);
  const number = meant.includes(' ') ? ' for several' : '';
  const message = `${describeValue(scope)} is one scope with a comma; write ${meant}${number}`;
  return [{ path, part: 'value', message }];
}

function split(scope: string): string {
  return JSON.stringify(
    scope
      .split(/[ ,]+/)
      .filter((token) => token !== '')
      .join(' '),
  );
}

/** Slashes delimit a regular expression in JavaScript; in YAML they are part of it. */
function slashesAround(source: string): { readonly fault?: string; readonly warning?: string } {
  const [, meant, flags] = /^\/(.+)(?<!\\)\/([dgimsuvy]*)$/s.exec(source) ?? [];
  if (meant === undefined) return {};
  const found = describeValue(source);
  // Before ^ and after $ stands no character.
  if (meant.startsWith('^') || /(?<!\\)(?:\\\\)*\$$/.test(meant)) {
    const remedy = `write ${describeValue(meant)}${flags === '' ? '' : '; flags cannot be set'}`;
    return { fault: `${found} matches no text, because its slashes are part of it; ${remedy}` };
  }
  if (flags !== '') return {};
  const remedy = `write ${describeValue(meant)}, or ${describeValue(`\\/${meant}\\/`)} if they are meant`;
  return { warning: `${found} matches only text with these slashes; ${remedy}` };
}
