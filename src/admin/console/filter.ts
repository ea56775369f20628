import { outcomeKinds } from '../../model/outcome.ts';
import type { DecisionRow } from './messages.ts';

/** The members that a filter looks at. */
type Filtered = Pick<DecisionRow, 'route' | 'kind' | 'reason' | 'subject' | 'clientId' | 'called'>;

/** The members of a filter, as in the address of Live. */
export const filterNames = ['route', 'outcome', 'reason', 'subject', 'client', 'tool'] as const;

/** Which decisions to show. A member that is absent selects every decision. */
export type Filter = Readonly<Partial<Record<(typeof filterNames)[number], string>>>;

/** The filter in the query of an address. */
export function filterIn(query: URLSearchParams): Filter {
  return Object.fromEntries(
    filterNames.flatMap((name) => {
      const value = query.get(name) ?? '';
      return value === '' ? [] : [[name, value]];
    }),
  );
}

/** The outcome in a filter that selects each refusal: `challenged`, `refused` and `unavailable`. */
export const DENIED = 'denied';

/**
 * Whether a filter selects a decision: by the whole route and outcome, by the beginning of the reason, and by a part of
 * the other members, whatever their case.
 */
export function selects({ route, outcome, reason, subject, client, tool }: Filter, row: Filtered): boolean {
  return (
    (route === undefined || row.route === route) &&
    (outcome === undefined || row.kind === outcome || (outcome === DENIED && outcomeKinds[row.kind].isDenied)) &&
    (reason === undefined || row.reason?.startsWith(reason) === true) &&
    (subject === undefined || has(row.subject, subject)) &&
    (client === undefined || has(row.clientId, client)) &&
    (tool === undefined || has(row.called, tool))
  );
}

function has(text: string | undefined, part: string): boolean {
  return text !== undefined && text.toLowerCase().includes(part.toLowerCase());
}
