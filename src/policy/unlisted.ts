import type { McpTarget, PolicyDenial } from '../model/policy.ts';
import { uriFlaw } from './canonical-uri.ts';
import { listedUnder } from './listing.ts';
import { shown } from './shown.ts';

const reasons = {
  tool: 'tool.unlisted',
  resource: 'resource.unlisted',
  template: 'resource.unlisted',
  prompt: 'prompt.unlisted',
} as const satisfies Readonly<Record<McpTarget['kind'], PolicyDenial['reason']>>;

/** The denial of what the policy does not list. There is no challenge, even where a scope is missing too: a new token would not help. */
export function unlistedTarget(kind: McpTarget['kind'], name: string | undefined): PolicyDenial {
  const flaw = kind === 'resource' && name !== undefined ? uriFlaw(name) : undefined;
  const why = flaw === undefined ? '' : `: only an exact entry covers a URI with ${flaw}`;
  const what = kind === 'template' ? 'resource template' : kind;
  const detail = `wanted a ${what} that is listed, found ${shown(name)}${why}`;
  return { reason: reasons[kind], rule: listedUnder[kind], detail, scope: [] };
}

/** The denial of a method that neither `methods` lists nor anything else allows. */
export function unlistedMethod(method: string | undefined): PolicyDenial {
  const detail = `wanted a method that is listed or protocol housekeeping, found ${shown(method)}`;
  return { reason: 'method.unlisted', rule: 'methods', detail, scope: [] };
}
