/**
 * @module What a policy that its schema accepts probably does not mean: texts that look like a pattern, a path or a
 * variable are compared as they are written.
 */

import { languageParts } from '../policy-parts/parts.ts';
import { isObject } from '../core/lib/json/own-member.ts';
import { describeValue } from '../core/lib/json/describe-value.ts';
import { MAX_ACTORS } from '../ports/actors.ts';
import {
  type ActorsDocument,
  type PolicyDocument,
  type PredicateDocument,
  rulePath,
  type Scalar,
  type ValueDocument,
} from '../core/policy/document.ts';
import { conditionsIn, matchedPatterns } from './placed-conditions.ts';
import { compilePredicates, operandsIn } from '../core/policy/predicate.ts';
import { claimPathMistake } from './claim-path.ts';
import { claimRemedy, elementMistake, nameMistake, prefixMistake, textMistake } from './literal-text.ts';
import type { Path } from '../core/config/problems.ts';
import type { Violation } from '../core/config/schema.ts';

interface PolicyMistakes {
  /** What no caller could satisfy, and what contradicts itself. */
  readonly faults: readonly Violation[];
  /** What may be meant. */
  readonly warnings: readonly Violation[];
}

/**
 * The mistakes of a policy that its schema accepts.
 *
 * @param isPlain Whether the text at a place is written without quotes.
 */
export function mistakesIn(document: PolicyDocument, isPlain: (path: Path) => boolean = () => false): PolicyMistakes {
  const faults: Violation[] = [];
  const warnings: Violation[] = [];
  for (const { path, condition } of conditionsIn(document)) {
    const { scope, acr, claims = {}, actors = {}, arguments: callArguments = {} } = condition;
    if (scope !== undefined) {
      const fault = commasBetween(scope, [...path, 'scope']);
      if (fault === undefined) warnings.push(...textsOf(scope, [...path, 'scope']).flatMap(scopeMistakes));
      else faults.push(fault);
    }
    if (acr !== undefined) warnings.push(...textsOf(acr, [...path, 'acr']).flatMap(elementWarnings));
    for (const [name, value] of Object.entries(claims)) {
      const at = [...path, 'claims', name];
      warnings.push(...warningOf(at, claimPathMistake(name), 'key'), ...valueWarnings(value, at, isPlain));
    }
    warnings.push(...actorWarnings(actors, [...path, 'actors']));
    for (const [pointer, value] of Object.entries(callArguments)) {
      warnings.push(...valueWarnings(value, [...path, 'arguments', pointer], isPlain));
    }
  }
  for (const { path, source } of matchedPatterns(document)) {
    const { fault, warning } = slashesAround(source);
    if (fault !== undefined) faults.push({ path, part: 'value', message: fault });
    else if (warning !== undefined) warnings.push({ path, part: 'value', message: warning });
  }
  for (const { faultsIn } of languageParts)
    for (const { path, message } of faultsIn?.(document) ?? []) faults.push({ path, part: 'value', message });
  warnings.push(...entryWarnings(document), ...unseenArguments(document));
  return { faults, warnings };
}

/**
 * Placeholders and variables in a policy, in its keys too. If `not: ${env:X}` were taken literally, every caller would
 * pass. In `matches`, `[^${}]` is a set of characters: the compiler reports what is no regular expression.
 */
export function placeholdersIn(value: unknown, path: Path = []): readonly Violation[] {
  if (typeof value === 'string') return placeholderIn(value, path, 'value');
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => {
    const at = [...path, Array.isArray(value) ? Number(key) : key];
    return placeholderIn(key, at, 'key').concat(placeholdersIn(inner, at));
  });
}

/** Keys below which a value may be `{ claim: NAME }`. */
const takingClaims = new Set(['claims', 'arguments', 'variables']);

function placeholderIn(text: string, path: Path, part: 'key' | 'value'): readonly Violation[] {
  if (/\$\{(?:env|file):/.test(text)) return [{ path, part, message: 'placeholders work in gateway.yaml only' }];
  const [variable] = (path.at(-1) !== 'matches' && /\$\{[\w.:/[\]-]+\}/.exec(text)) || [];
  if (variable === undefined) return [];
  const literal = `${describeValue(variable)} is no variable: a policy takes it as it is written`;
  const isCompared = part === 'value' && path.some((key) => takingClaims.has(String(key)));
  return [{ path, part, message: `${literal}; ${isCompared ? claimRemedy(variable) : 'write the value itself'}` }];
}

interface PlacedText {
  readonly text: string;
  readonly path: Path;
}

function textsOf(value: string | readonly string[], path: Path): readonly PlacedText[] {
  if (typeof value === 'string') return [{ text: value, path }];
  return Array.from(value, (text, index) => ({ text, path: [...path, index] }));
}

function warningOf(path: Path, message: string | undefined, part: 'key' | 'value' = 'value'): readonly Violation[] {
  return message === undefined ? [] : [{ path, part, message }];
}

function scopeMistakes({ text, path }: PlacedText): readonly Violation[] {
  const comma = commaWithin(text, path);
  return comma.length > 0 ? comma : text.split(' ').flatMap((scope) => elementWarnings({ text: scope, path }));
}

function elementWarnings({ text, path }: PlacedText): readonly Violation[] {
  return warningOf(path, elementMistake(text));
}

function valueWarnings(value: ValueDocument, path: Path, isPlain: (path: Path) => boolean): readonly Violation[] {
  const whole = (each: unknown, at: Path): readonly Violation[] =>
    typeof each === 'string' ? warningOf(at, textMistake(each, { isPlain: isPlain(at) })) : [];
  const members = (list: readonly unknown[], at: Path): readonly Violation[] =>
    list.flatMap((each, index) => whole(each, [...at, index]));
  if (Array.isArray(value)) return members(value as readonly unknown[], path);
  if (typeof value !== 'object') return whole(value, path);
  const { equals, one_of: oneOf = [], contains, within = [], not } = value as PredicateDocument;
  const prefixes = typeof within === 'string' ? [within] : Array.isArray(within) ? within : [];
  return [
    ...operandWarnings(value, path),
    ...whole(equals, [...path, 'equals']),
    ...(Array.isArray(oneOf) ? members(oneOf as readonly unknown[], [...path, 'one_of']) : []),
    ...(typeof contains === 'string' ? elementWarnings({ text: contains, path: [...path, 'contains'] }) : []),
    ...prefixes.flatMap((each, index) => {
      const at = typeof within === 'string' ? [] : [index];
      return typeof each === 'string' ? warningOf([...path, 'within', ...at], prefixMistake(each)) : [];
    }),
    ...(not === undefined ? [] : valueWarnings(not, [...path, 'not'], isPlain)),
  ];
}

/** Conditions on actors that none can meet. */
function actorWarnings({ count, current, each }: ActorsDocument, path: Path): readonly Violation[] {
  const counts = count === undefined ? undefined : countsFor(count);
  const found = Object.entries({ current, each }).filter(([, value]) => value !== undefined && isNeverText(value));
  return [
    ...(counts?.length === 0
      ? warningOf([...path, 'count'], `no call can meet it: the number of actors is a number from 0 to ${MAX_ACTORS}`)
      : []),
    ...(current !== undefined && counts?.length === 1 && counts[0] === 0
      ? warningOf([...path, 'current'], 'no call can meet it: count asks for no actor')
      : []),
    ...found.flatMap(([key]) => warningOf([...path, key], 'no actor can meet it: its sub is a text')),
  ];
}

/** The numbers of actors that a condition accepts; undefined: they depend on the caller. */
function countsFor(value: ValueDocument): readonly number[] | undefined {
  const predicates = compilePredicates(value, [], []);
  if (operandsIn(predicates).length > 0) return undefined;
  const all = Array.from({ length: MAX_ACTORS + 1 }, (_, count) => count);
  return all.filter((count) => predicates.every(({ test }) => test(count)));
}

/** Whether a condition wants another type than a text. */
function isNeverText(value: ValueDocument): boolean {
  if (Array.isArray(value)) return !(value as readonly unknown[]).some((each) => typeof each === 'string');
  if (typeof value !== 'object') return typeof value !== 'string';
  const { equals, one_of: oneOf, contains, integer, ...others } = value as PredicateDocument;
  if (contains !== undefined) return true;
  if (integer === true) return false;
  const bounds = ['below', 'at_most', 'above', 'at_least'];
  if (bounds.some((bound) => Object.hasOwn(others, bound))) return true;
  const compared = [equals, Array.isArray(oneOf) ? (oneOf as readonly Scalar[]) : undefined];
  return compared.some((each) => each !== undefined && !(isObject(each) && !Array.isArray(each)) && isNeverText(each));
}

/** Tools whose inner calls show no arguments, beside what is asked of arguments. */
function unseenArguments(document: PolicyDocument): readonly Violation[] {
  let asked: readonly Path[] | undefined;
  return Object.entries(document.tools ?? {}).flatMap(([name, entry]) => {
    const at = languageParts.map(({ blindIn }) => blindIn?.(entry, ['tools', name])).find((path) => path !== undefined);
    if (at === undefined) return [];
    asked ??= argumentsAsked(document);
    const where = asked.find(([, tool]) => tool !== name);
    if (where === undefined) return [];
    return warningOf(at, `has no arguments: ${rulePath(where)} sees none of inner calls`, 'key');
  });
}

/** Where a policy asks something of the arguments of tools. */
function argumentsAsked(document: PolicyDocument): readonly Path[] {
  const asked: Path[] = [];
  for (const { path, condition } of conditionsIn(document)) {
    if (path[0] === 'tools' && condition.arguments !== undefined) asked.push([...path, 'arguments']);
  }
  for (const [name, entry] of Object.entries(document.tools ?? {})) {
    for (const { argumentsIn } of languageParts) asked.push(...(argumentsIn?.(entry, ['tools', name]) ?? []));
  }
  return asked;
}

/** Names of claims that `{ claim: NAME }` has, at any depth of a value. */
function operandWarnings(value: object, path: Path): readonly Violation[] {
  return Object.entries(value).flatMap(([key, inner]: readonly [string, unknown]) => {
    if (key === 'not') return [];
    const at = [...path, Array.isArray(value) ? Number(key) : key];
    if ((key === 'claim' || key === 'caller') && typeof inner === 'string') return warningOf(at, operandMistake(inner));
    return isObject(inner) || Array.isArray(inner) ? operandWarnings(inner, at) : [];
  });
}

function operandMistake(name: string): string | undefined {
  const [, meant] = /^\$\{?([A-Za-z_][\w-]*)\}?$/.exec(name) ?? [];
  if (meant === undefined) return claimPathMistake(name);
  return `${describeValue(name)} is no variable; write ${describeValue(meant)}`;
}

/** Warnings of the names of entries, and of what the parts of the language name in them. */
function entryWarnings(document: PolicyDocument): readonly Violation[] {
  const warnings: Violation[] = [];
  for (const key of ['tools', 'prompts', 'methods', 'resources', 'requests'] as const) {
    for (const [name, entry] of Object.entries(document[key] ?? {})) {
      warnings.push(...warningOf([key, name], nameMistake(key, name), 'key'));
      const names = languageParts.flatMap(({ namesIn }) => namesIn?.(entry, [key, name]) ?? []);
      for (const { path, text, of } of names)
        warnings.push(...warningOf(path, of === 'tools' ? nameMistake(of, text) : claimPathMistake(text)));
    }
  }
  return warnings;
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
