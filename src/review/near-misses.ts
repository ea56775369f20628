import { didYouMean } from '../lib/wording.ts';
import { isObject } from '../lib/json/own-member.ts';
import { knownRequests, listedKinds } from '../model/mcp.ts';
import type { Attempt, Explanation, McpAttempt, Policy } from '../model/policy.ts';
import type { Principal } from '../model/principal.ts';
import { describeValue } from '../lib/json/describe-value.ts';
import { namePattern } from '../policy/pattern.ts';

/**
 * Names of a call that resemble names of the policy, a sentence each: a typing error, or another spelling, is the
 * likeliest cause of a refusal.
 *
 * @param conditions The policy's explanation of the call.
 * @param neededScope All scopes that the call needs.
 */
export function nearMisses(
  policy: Policy,
  principal: Principal,
  attempt: Attempt,
  conditions: readonly Explanation[],
  neededScope: readonly string[],
): readonly string[] {
  const failing = conditions.flatMap(leaves).filter(({ outcome }) => outcome === 'fails');
  const missing = [...policy.scope, ...neededScope].filter((scope) => !principal.scopes.has(scope));
  const isUnlisted = failing.some(({ kind }) => kind === 'listed');
  const notes = [
    ...(isUnlisted && attempt.kind === 'mcp' ? unlisted(policy, attempt) : []),
    ...(isUnlisted && attempt.kind === 'http' ? unlistedRequest(policy, attempt.request) : []),
    ...missing.flatMap((scope) => nearScope(scope, principal)),
    ...absent(failing, 'claim', principal.claims),
    ...absent(failing, 'argument', attempt.kind === 'mcp' ? attempt.arguments : undefined),
  ];
  return [...new Set(notes)];
}

/** The conditions of an explanation that have no parts. */
export function leaves(explanation: Explanation): readonly Explanation[] {
  const { parts } = explanation;
  return parts.length === 0 ? [explanation] : parts.flatMap(leaves);
}

function unlisted({ listed }: Policy, { method, targets }: McpAttempt): readonly string[] {
  const names = (key: string): readonly string[] => listed.filter((entry) => entry.key === key).map(({ name }) => name);
  const known = targets.length === 0 ? [...names('methods'), ...knownRequests.keys()] : [];
  return [
    ...targets.flatMap(({ kind, name }) => resembling(kind, name, names(listedKinds[kind].key))),
    ...(method.name === undefined ? [] : resembling('method', method.name, known)),
  ];
}

function unlistedRequest({ listed }: Policy, request: string | undefined): readonly string[] {
  if (request === undefined) return [];
  const names = listed.filter(({ key }) => key === 'requests').map(({ name }) => name);
  return resembling('request', request, names);
}

function nearScope(missing: string, { grantedScopes }: Principal): readonly string[] {
  const joined = grantedScopes.find((scope) => scope.split(',').includes(missing));
  if (joined !== undefined) return [`${describeValue(joined)} is one scope: separate scopes by spaces`];
  return grantedScopes.filter((scope) => resembles(scope, missing)).map((scope) => sentence('scope', scope, missing));
}

/** Members that the policy reads and that the object lacks, beside members that it has. */
function absent(failing: readonly Explanation[], kind: 'claim' | 'argument', object: unknown): readonly string[] {
  const wanted = failing.filter((each) => each.kind === kind && each.found === 'nothing');
  const names = isObject(object) ? namesIn(object) : [];
  return wanted.flatMap(({ reads = '' }) =>
    names.filter((name) => resembles(name, reads)).map((name) => sentence(kind, name, reads)),
  );
}

/** The members of an object by name, and their members by JSON Pointer. */
function namesIn(object: Readonly<Record<string, unknown>>): readonly string[] {
  const inner = Object.entries(object).flatMap(([name, value]) =>
    isObject(value) ? Object.keys(value).map((each) => `/${name}/${each}`) : [],
  );
  return [...Object.keys(object), ...inner];
}

function resembling(kind: string, name: string, listed: readonly string[]): readonly string[] {
  return listed.filter((pattern) => resembles(name, pattern)).map((pattern) => sentence(kind, name, pattern));
}

function sentence(kind: string, found: string, wanted: string): string {
  return `the ${kind} ${describeValue(found)} resembles ${describeValue(wanted)}, which the policy names`;
}

/** Whether a name is probably meant by a name or pattern that it does not match. */
function resembles(name: string, pattern: string): boolean {
  if (covers(pattern, name)) return false;
  if (covers(bareName(pattern), bareName(name))) return true;
  const [head = '', ...tail] = pattern.split('*');
  if (tail.length === 0) return didYouMean(name, [pattern]) !== undefined;
  return head !== '' && didYouMean(name.slice(0, head.length), [head]) !== undefined;
}

function covers(pattern: string, name: string): boolean {
  return pattern === name || (pattern.includes('*') && namePattern(pattern).matches(name));
}

/** A name without case and separators: `getSum`, `get-sum` and `get_sum` are alike. */
function bareName(name: string): string {
  return name.toLowerCase().replaceAll(/[-_./: ]/g, '');
}
