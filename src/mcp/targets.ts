import { ownMember } from '../lib/json/own-member.ts';
import { Denial } from '../model/denial.ts';
import type { McpMethod } from '../model/mcp.ts';
import type { MessageId } from '../model/grant.ts';
import type { McpTarget } from '../model/policy.ts';
import { unambiguousMember } from './unambiguous-member.ts';

type Params = Readonly<Record<string, unknown>>;

/** The policy decides on each. */
const MAX_SUBSCRIPTIONS = 100;

/**
 * What a message acts on, so that a policy can decide: one tool, prompt or resource; what a completion refers to
 * (`completion/complete`); every resource that a `subscriptions/listen` subscribes to.
 *
 * @throws {Denial} `body.message` where the member that names it is missing or of another type: upstreams differ in
 *   what they make of that.
 */
export function targetsOf(method: McpMethod, params: Params, messageId: MessageId): readonly McpTarget[] {
  const targets = namedTargets(method, params, messageId);
  // In C a string ends at a NUL: a pattern that covers `pay\u0000_read` would let `pay` through.
  if (targets.some(({ name }) => name.includes('\0')))
    throw new Denial('body.ambiguous', `${method.name} of a name with a NUL`, { messageId });
  return targets;
}

function namedTargets(method: McpMethod, params: Params, messageId: MessageId): readonly McpTarget[] {
  const { target } = method;
  if (target === 'reference') return [reference(params, method, messageId)];
  if (target === 'subscriptions') return subscriptions(params, messageId);
  // The handle of a task is bound to its caller; no policy names it.
  if (target === undefined || target.kind === 'task') return [];
  return [{ kind: target.kind, name: text(params, target.parameter, method, messageId) }];
}

function text(params: Params, parameter: string, { name }: McpMethod, messageId: MessageId): string {
  const value = ownMember(params, parameter);
  if (typeof value === 'string') return value;
  throw new Denial('body.message', `${name} without params.${parameter}`, { messageId });
}

function reference(params: Params, method: McpMethod, messageId: MessageId): McpTarget {
  const ref = params['ref'];
  if (typeof ref === 'object' && ref !== null) {
    const { type, name, uri } = ref as Record<string, unknown>;
    if (type === 'ref/prompt' && typeof name === 'string') return { kind: 'prompt', name };
    if (type === 'ref/resource' && typeof uri === 'string')
      return { kind: uri.includes('{') ? 'template' : 'resource', name: uri };
  }
  throw new Denial('body.message', `${method.name} without a ref to a prompt or a resource`, { messageId });
}

/** MCP 2026-07-28: of the notifications that a client asks for, only `resourceSubscriptions` name anything. */
function subscriptions(params: Params, messageId: MessageId): readonly McpTarget[] {
  const notifications = unambiguousMember(params, 'notifications', messageId);
  if (typeof notifications !== 'object' || notifications === null) return [];
  const uris = unambiguousMember(notifications as Params, 'resourceSubscriptions', messageId);
  if (uris === undefined) return [];
  if (!Array.isArray(uris) || !uris.every((uri) => typeof uri === 'string')) {
    throw new Denial('body.message', 'resourceSubscriptions is not a list of strings', { messageId });
  }
  if (uris.length > MAX_SUBSCRIPTIONS)
    throw new Denial('body.message', `more than ${MAX_SUBSCRIPTIONS} subscriptions`, { messageId });
  return uris.map((name) => ({ kind: 'resource', name }));
}
