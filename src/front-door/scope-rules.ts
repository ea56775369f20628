import { errors } from 'oidc-provider';
import type { FrontDoor, FrontDoorScope } from '../ports/front-door.ts';

/** The rules of the scopes that a request or a token asks for. */
export interface ScopeRules {
  /** The known ones among scopes that are separated by spaces; each once. */
  known(scope: unknown): readonly string[];
  title(scope: string): string;
  /** The lifetime of a token, in seconds: the shortest of its scopes. */
  lifetimeSeconds(scopes: Iterable<string>): number;
  /** How old a sign-in may be, in seconds: the least of the scopes; undefined: any age. */
  maxAgeSeconds(scopes: Iterable<string>): number | undefined;
  /** All scopes, separated by spaces. */
  readonly all: string;
  /** Those that a token may have whose sign-in has this age, separated by spaces. */
  freshEnough(ageSeconds: number): string;
}

/** Creates the rules of `front_door.scopes`. */
export function createScopeRules({ scopes, tokens }: Pick<FrontDoor, 'scopes' | 'tokens'>): ScopeRules {
  const settingsOf = (names: Iterable<string>): readonly FrontDoorScope[] =>
    [...names].flatMap((name) => scopes.get(name) ?? []);
  return {
    known: (scope) =>
      typeof scope === 'string' ? [...new Set(scope.split(' '))].filter((name) => scopes.has(name)) : [],
    title: (scope) => scopes.get(scope)?.title ?? scope,
    lifetimeSeconds: (names) =>
      Math.ceil(
        Math.min(tokens.lifetimeMs, ...settingsOf(names).map(({ lifetimeMs }) => lifetimeMs ?? Infinity)) / 1000,
      ),
    maxAgeSeconds(names) {
      const least = Math.min(...settingsOf(names).map(({ maxAgeMs }) => maxAgeMs ?? Infinity));
      return least === Infinity ? undefined : Math.floor(least / 1000);
    },
    all: [...scopes.keys()].join(' '),
    freshEnough: (ageSeconds) =>
      [...scopes].flatMap(([name, { maxAgeMs = Infinity }]) => (ageSeconds * 1000 <= maxAgeMs ? [name] : [])).join(' '),
  };
}

/**
 * The scopes that a party gets without a person: of those that it asks for, or of all, those that it may have.
 *
 * @throws {InvalidScope} if none is left.
 */
export function cutScopes(asked: unknown, most: readonly string[]): string {
  const names = typeof asked === 'string' ? asked.split(' ') : most;
  const granted = most.filter((name) => names.includes(name));
  if (granted.length > 0) return granted.join(' ');
  throw new errors.InvalidScope('none of the requested scopes is allowed', typeof asked === 'string' ? asked : '');
}

/** A scope as people see it. */
export interface ShownScope {
  readonly name: string;
  readonly title: string;
  /** The lifetime of a token with it, in seconds, if it is shorter than that of others. */
  readonly shortLived: number | undefined;
}

/** A scope as the pages show it. */
export function shownScope(scopes: ScopeRules, name: string): ShownScope {
  const lifetime = scopes.lifetimeSeconds([name]);
  return { name, title: scopes.title(name), shortLived: lifetime < scopes.lifetimeSeconds([]) ? lifetime : undefined };
}
