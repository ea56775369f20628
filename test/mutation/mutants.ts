import { globSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Mutant } from '@stryker-mutator/api/core';
import type { Logger } from '@stryker-mutator/api/logging';
import { Instrumenter } from '@stryker-mutator/instrumenter';
import { parseAst } from 'rolldown/parseAst';
import type { MutantName } from './equivalents.ts';
import { parts } from './parts.ts';
import { strykerPlugins } from './prose.ts';

/** A mutant with what {@link MutantName} needs to find it in any file. */
export interface PlacedMutant<M extends Mutant = Mutant> {
  readonly mutant: M;
  /** The functions around it, outermost first: `createRouter.longest`. Outside functions, the constant or class. */
  readonly path: string;
  /** Its number among the mutants of `path` with the same mutator and replacement, from 1 on. */
  readonly nth: number;
}

/** Whether `name` means this mutant. */
export function isNamed(name: MutantName, { mutant, path, nth }: PlacedMutant): boolean {
  return (
    (path === name.in || path.endsWith(`.${name.in}`)) &&
    mutant.mutatorName === name.mutator &&
    mutant.replacement === (name.to ?? mutant.replacement) &&
    nth === (name.nth ?? nth)
  );
}

/** All mutants of all {@link parts}, without running a test. */
export async function allMutants(): Promise<readonly PlacedMutant[]> {
  // What the instrumenter calls of a logger.
  const logger = { debug: () => {}, info: () => {}, warn: () => {}, isDebugEnabled: () => false } as unknown as Logger;
  const files = Object.values(parts)
    .flatMap(({ mutate }) => globSync([...mutate]))
    .map((name) => ({ name: resolve(name), mutate: true, content: readFileSync(name, 'utf8') }));
  const ignorers = strykerPlugins.map(({ value }) => value);
  const { mutants } = await new Instrumenter(logger).instrument(files, {
    ignorers,
    excludedMutations: [],
    plugins: null,
  });
  return placed(mutants, 0);
}

/** Places mutants in their functions. `first` is the number that Stryker gives to a first line and a first column. */
export function placed<M extends Mutant>(mutants: readonly M[], first: 0 | 1): readonly PlacedMutant<M>[] {
  const byFile = Map.groupBy(mutants, ({ fileName }) => fileName);
  return [...byFile].flatMap(([file, all]) => placedInFile(readFileSync(file, 'utf8'), all, first));
}

function placedInFile<M extends Mutant>(
  source: string,
  mutants: readonly M[],
  first: 0 | 1,
): readonly PlacedMutant<M>[] {
  const scopes = scopesOf(source);
  const lines = [0, ...[...source.matchAll(/\n/g)].map(({ index }) => index + 1)];
  const offset = ({ line, column }: Mutant['location']['start']): number =>
    (lines[line - first] ?? Number.NaN) + column - first;

  const counts = new Map<string, number>();
  return mutants
    .map((mutant) => ({ mutant, start: offset(mutant.location.start), end: offset(mutant.location.end) }))
    .toSorted((one, other) => one.start - other.start || other.end - one.end)
    .map(({ mutant, start, end }) => {
      const around = scopes.filter((scope) => scope.start <= start && end <= scope.end);
      const path = around.map(({ name }) => name).join('.');
      const alike = JSON.stringify([path, mutant.mutatorName, mutant.replacement]);
      const nth = (counts.get(alike) ?? 0) + 1;
      counts.set(alike, nth);
      return { mutant, path, nth };
    });
}

interface Scope {
  readonly name: string;
  readonly start: number;
  readonly end: number;
}

interface Syntax {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [member: string]: unknown;
}

/** All functions with a name, and the constants and classes of the module itself. Outer ones come first. */
function scopesOf(source: string): readonly Scope[] {
  const scopes: Scope[] = [];
  const visit = (value: unknown, depth: number): void => {
    if (Array.isArray(value)) for (const each of value) visit(each, depth);
    if (!isSyntax(value)) return;
    const name = nameOf(value);
    const isScope = name !== undefined && (depth === 0 || isFunction(value));
    if (isScope) scopes.push({ name, start: value.start, end: value.end });
    for (const member of Object.values(value)) visit(member, isScope ? depth + 1 : depth);
  };
  visit(parseAst(source, { lang: 'ts' }), 0);
  return scopes;
}

function isSyntax(value: unknown): value is Syntax {
  return typeof value === 'object' && value !== null && 'type' in value;
}

/** Also what a variable, a method or a member of an object holds. */
function isFunction({ type, init, value }: Syntax): boolean {
  return [type, ...[init, value].filter(isSyntax).map((held) => held.type)].some((each) => each.includes('Function'));
}

const declaration = /^(?:(?:Function|Class)Declaration|VariableDeclarator|(?:Method|Property)Definition|Property)$/;

/** The name in a declaration, if it is a plain one; `#name` of a private member. */
function nameOf({ type, id, key }: Syntax): string | undefined {
  const name = id ?? key;
  if (!declaration.test(type) || !isSyntax(name)) return undefined;
  if (name.type === 'PrivateIdentifier') return `#${name['name'] as string}`;
  return name.type === 'Identifier' ? (name['name'] as string) : undefined;
}
