import type { McpTarget } from '../model/policy.ts';

/**
 * The methods that act on one thing, and what it is. `completion/complete` is not among them: what it refers to decides
 * only in a policy that lists things of that kind. Nor is `subscriptions/listen`, which may subscribe to nothing.
 */
export const targetKinds: ReadonlyMap<string, McpTarget['kind']> = new Map([
  ['tools/call', 'tool'],
  ['resources/read', 'resource'],
  ['resources/subscribe', 'resource'],
  ['resources/unsubscribe', 'resource'],
  ['prompts/get', 'prompt'],
]);
