import type { Route } from '../../core/model/route.ts';
import { lacksFields } from '../../ports/upstream-questions.ts';

/** Whether a route presents its callers to its upstream. */
export function presentsCallers({ public: isPublic, upstream }: Route): boolean {
  if (isPublic) return false;
  const { token, identity, statements } = upstream;
  return token !== 'none' || identity.size > 0 || statements.length > 0 || lacksFields(upstream);
}

/**
 * The remedy where an upstream refuses a caller without credentials.
 *
 * @param command What to do for a caller instead: `lock` or `lock --check`.
 */
export function remedyForStranger(route: Route, command: string): string {
  return presentsCallers(route)
    ? `ask for a caller: sallyport ${command} --route ${route.name} --token - < token.txt`
    : 'disable its own authorization, or set upstream.token or upstream.headers';
}
