import { plainName } from '../lib/look-alike.ts';
import type { McpTarget, PolicyDenial, PolicyReason } from '../model/policy.ts';
import { plainUri, uriFlaw } from './canonical-uri.ts';
import type { ListingKey } from './entry.ts';
import { onlyByName } from './housekeeping.ts';
import { listedUnder } from './listing.ts';
import { describeValue } from './describe-value.ts';

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
  const what = kind === 'template' ? 'resource template' : kind;
  return {
    reason: reasons[kind],
    rule: listedUnder[kind],
    wanted: `a ${what} that is listed`,
    found: `${describeValue(name)}${name === undefined ? '' : whyUnlisted(kind, name)}`,
  };
}

/** What its spelling has to do with it, if anything. */
function whyUnlisted(kind: McpTarget['kind'], name: string): string {
  const flaw = kind === 'resource' ? uriFlaw(name) : undefined;
  if (flaw !== undefined) return `: only an exact entry covers a URI with ${flaw}`;
  const plain = kind === 'resource' || kind === 'template' ? plainUri(name) : plainName(name);
  return plain === name ? '' : `: only an exact entry covers a name that some servers read as ${describeValue(plain)}`;
}

/** A method that neither `methods` lists nor anything else allows. */
export function unlistedMethod(method: string | undefined): Unlisted {
  const wanted = 'a method that is listed or protocol housekeeping';
  const why = onlyByName.has(method) ? ': only an exact entry covers it' : '';
  return { reason: 'method.unlisted', rule: 'methods', wanted, found: `${describeValue(method)}${why}` };
}

/** There is no challenge, even where a scope is missing too: a new token would not help. */
export function unlistedDenial({ reason, rule, wanted, found }: Unlisted): PolicyDenial {
  return { reason, rule, detail: `wanted ${wanted}, found ${found}`, scope: [] };
}
