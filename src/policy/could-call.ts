import type { McpTarget } from '../model/policy.ts';
import type { Principal } from '../model/principal.ts';
import type { Rules } from './decide.ts';
import { judge } from './verdict.ts';

/** How one comes to what a list offers. */
const callingMethod = {
  tool: 'tools/call',
  resource: 'resources/read',
  template: 'resources/read',
  prompt: 'prompts/get',
} as const satisfies Readonly<Record<McpTarget['kind'], string>>;

/**
 * Whether some token of this caller could call it, for `lists: filter`: what lacks only a scope stays visible, so that
 * step-up can be found, and so does what lacks only a shorter life. Arguments are not known before the call.
 */
export function couldCall({ condition, listing }: Rules, principal: Principal, { kind, name }: McpTarget): boolean {
  try {
    if (judge(condition, principal) === 'refused') return false;
    if (listing === undefined) return true;
    const entry = listing[kind]?.(name);
    if (entry === undefined || judge(entry.condition, principal) === 'refused') return false;
    const method = listing.method?.(callingMethod[kind]);
    return method === undefined || judge(method.condition, principal) !== 'refused';
  } catch {
    // As in `decide`: what cannot be evaluated would be denied.
    return false;
  }
}
