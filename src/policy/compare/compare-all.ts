import type { Policy } from '../../model/policy.ts';
import type { Route } from '../../model/route.ts';
import { compilePolicy } from '../compile.ts';
import type { Example } from '../prove/examination.ts';
import type { Deciding } from '../prove/prove.ts';
import { comparePolicies, type Difference, type Undecided } from './compare.ts';

/** A difference between two sets of policies, or of routes. */
export interface NamedDifference {
  /** The policy; `route NAME` for a route that has another policy. */
  readonly policy: string;
  readonly kind: Difference['kind'] | 'added' | 'removed' | 'policy changed';
  /** Undefined for a policy as a whole. */
  readonly rule?: string;
  readonly was?: string;
  readonly now?: string;
  readonly witness?: Example | undefined;
}

/** What the edit of several policies means. */
export interface NamedComparison {
  readonly differences: readonly NamedDifference[];
  readonly undecided: readonly (Undecided & { readonly policy: string })[];
}

/** What the edit of a set of policies means, by their names. */
export function compareAll(
  before: ReadonlyMap<string, Policy>,
  after: ReadonlyMap<string, Policy>,
  deciding: Deciding,
): NamedComparison {
  const names = [...new Set([...before.keys(), ...after.keys()])].toSorted();
  return joined(
    names.map((policy) => {
      const was = before.get(policy);
      const is = after.get(policy);
      if (was === undefined) return { differences: [{ policy, kind: 'added' }], undecided: [] };
      if (is === undefined) return { differences: [{ policy, kind: 'removed' }], undecided: [] };
      return named(policy, was, is, deciding);
    }),
  );
}

/** What it means that routes have another policy than before. Routes that are new or gone are left out. */
export function compareRoutes(before: readonly Route[], after: readonly Route[], deciding: Deciding): NamedComparison {
  const earlier = new Map(before.map((route) => [route.name, route]));
  return joined(
    after.map((route) => {
      const was = earlier.get(route.name);
      if (was === undefined || policyOf(was) === policyOf(route)) return { differences: [], undecided: [] };
      const policy = `route ${route.name}`;
      const change: NamedDifference = {
        policy,
        kind: 'policy changed',
        rule: 'policy',
        was: policyOf(was),
        now: policyOf(route),
      };
      // Every caller may use a public route, and has no token to compare.
      const decisions =
        was.public || route.public ? [] : [named(policy, was.policy ?? anyToken, route.policy ?? anyToken, deciding)];
      return joined([{ differences: [change], undecided: [] }, ...decisions]);
    }),
  );
}

/** What a route without a policy accepts. */
const anyToken = compilePolicy('none', {});

function policyOf(route: Route): string {
  return route.public ? 'public' : (route.policy?.name ?? 'none');
}

function named(policy: string, before: Policy, after: Policy, deciding: Deciding): NamedComparison {
  const { differences, undecided } = comparePolicies(before, after, deciding);
  return {
    differences: differences.map(({ kind, rule, was, now, witness }) => ({ policy, kind, rule, was, now, witness })),
    undecided: undecided.map(({ rule, why }) => ({ policy, rule, why })),
  };
}

/** Several comparisons as one. */
export function joined(comparisons: readonly NamedComparison[]): NamedComparison {
  return {
    differences: comparisons.flatMap(({ differences }) => differences),
    undecided: comparisons.flatMap(({ undecided }) => undecided),
  };
}
