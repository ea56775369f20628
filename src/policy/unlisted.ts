import type { McpTarget, PolicyDenial, PolicyReason } from '../model/policy.ts';
import { uriFlaw } from './canonical-uri.ts';
import type { ListingKey } from './entry.ts';
import { listedUnder } from './listing.ts';
import { shown } from './shown.ts';

const reasons = {
  tool: 'tool.unlisted',
  resource: 'resource.unlisted',
  template: 'resource.unlisted',
  prompt: 'prompt.unlisted',
} as const satisfies Readonly<Record<McpTarget['kind'], PolicyReason>>;

/** Something that the policy does not list. */
export interface Unlisted {
  readonly reason: PolicyReason;
  readonly rule: ListingKey;
  /** In words, as in a denial's detail. */
  readonly wanted: string;
  readonly found: string;
}

/** What a message acts on, or undefined where it names nothing. */
export function unlistedTarget(kind: McpTarget['kind'], name: string | undefined): Unlisted {
  const flaw = kind === 'resource' && name !== undefined ? uriFlaw(name) : undefined;
  const why = flaw === undefined ? '' : `: only an exact entry covers a URI with ${flaw}`;
  const what = kind === 'template' ? 'resource template' : kind;
  return {
    reason: reasons[kind],
    rule: listedUnder[kind],
    wanted: `a ${what} that is listed`,
    found: `${shown(name)}${why}`,
  };
}

/** A method that neither `methods` lists nor anything else allows. */
export function unlistedMethod(method: string | undefined): Unlisted {
  const wanted = 'a method that is listed or protocol housekeeping';
  return { reason: 'method.unlisted', rule: 'methods', wanted, found: shown(method) };
}

/** There is no challenge, even where a scope is missing too: a new token would not help. */
export function unlistedDenial({ reason, rule, wanted, found }: Unlisted): PolicyDenial {
  return { reason, rule, detail: `wanted ${wanted}, found ${found}`, scope: [] };
}
