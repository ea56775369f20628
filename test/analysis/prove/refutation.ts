import { approvalsKey } from '../../../src/policy-parts/approvals/key.ts';
import fc from 'fast-check';
import type { Decision, Policy } from '../../../src/core/model/policy.ts';
import { decisionWith } from '../../../src/analysis/review/given-approval.ts';
import type { PolicyDocument } from '../../../src/core/policy/document.ts';
import { isExpected } from '../../../src/policy-files/property.ts';
import { isDescribed } from '../../../src/analysis/prove/prove.ts';
import { compiled, deciding, policyOf } from './deciding.ts';
import type { RandomProperty } from './random-properties.ts';
import { words } from '../../support/words.ts';
import { wordsIn } from '../../support/words-in.ts';

/** The code that serves, with a hierarchy of scopes. */
export const setting = deciding({ write: ['read'] });

/** JSON values on both sides of whatever random conditions can tell apart. */
const numbers = [0, 1, 2, 3, 5, 6, -1, 0.5, 1.25, 1.75, 4.5, 5.5, 2 ** 60, Infinity];
const texts = ['', 'a', 'b', 'c', 'ab', 'aa', 'cb', 'a5', 'https://as.example'];
const digits = ['5', '05', '055', '1', '01', '3', '6', '-1', '0', '99999999999999999999'];
const arrays = [[], ['a'], ['b'], ['a', 'b'], ['c'], [1], [0, 'a'], [null], [true, 5], ['5'], [{}], [[], 'a']];
const objects = [{}, { x: 'a' }, { x: 1 }, { x: null }, { x: { y: 'a' } }, { x: { y: 5 } }, { x: ['a'] }, { x: '05' }];
const oddObjects = [
  { 0: 'a' },
  { 0: 1, 1: 'b', x: 'b' },
  { '-': 'a' },
  { x: 'a', X: 'b' },
  { X: 'a' },
  { 0: 'b', 1: 'a' },
];
const values = [null, true, false, ...numbers, ...texts, ...digits, ...arrays, ...objects, ...oddObjects];
const names = [...wordsIn`get_x get_y get_ g zzz x Get_x a:x a:y a:x/y a:xy a:x?q a:X a:Xy p px ping tools/call`];
const methods = [...wordsIn`ping tools/call tasks/x tasks/list resources/list x zz notifications/x x/list`];

const requests = [
  ...words('/a /a/ /a/x /a/X /a/x/ /a/b /a/b/c /A/x /A /a/%20 /%C3%A9 /').map((path) => `GET ${path}`),
  ...words('/a /a/x /a/b /x').map((path) => `HEAD ${path}`),
  ...words('/a /x /X/').map((path) => `POST ${path}`),
  ...words('/a/x /').map((path) => `DELETE ${path}`),
];

const oneValue = fc.constantFrom(...values);
/** Chains that a token may have. */
const oneActor = fc
  .array(fc.constantFrom('a', 'b', 'c', 'aa', '5', '05'), { minLength: 1, maxLength: 8 })
  .map((subjects) => subjects.reduceRight<object | undefined>((act, sub) => ({ sub, ...(act && { act }) }), undefined));
const given = fc.record(
  {
    scope: fc.constantFrom('read', 'write', 'pay', 'read pay', 'pay write'),
    claims: fc.record(
      { r: oneValue, s: oneValue, act: oneActor, iss: oneValue, scope: oneValue, exp: oneValue },
      { requiredKeys: [] },
    ),
    lifetime: fc.constantFrom('1ms', '5ms', '6ms', '60s', '61s'),
    approval: fc.constantFrom('none' as const, 'approved' as const),
  },
  { requiredKeys: [] },
);
const args = fc.record({ n: oneValue, N: oneValue, o: oneValue }, { requiredKeys: [] });
const called = fc.oneof(
  fc.constant({}),
  fc.record({ tool: fc.constantFrom(...names), arguments: args }),
  fc.record({ prompt: fc.constantFrom(...names), arguments: args }),
  fc.record({ resource: fc.constantFrom(...names) }),
  fc.record({ method: fc.constantFrom(...methods) }),
  fc.record({ request: fc.constantFrom(...requests) }),
);
const examples = fc.sample(fc.record({ given, when: called }), { numRuns: 4000, seed: 1 });

/** A described example that the policy decides in another way than the property wants. */
export function refutation({ policy: document, property: wanted }: RandomProperty, from: number): unknown {
  const policy = policyOf(document);
  const property = compiled(wanted);
  const listing = listingOf(document);
  const isNamed = (when: object): boolean =>
    Object.values(when).some((name) => typeof name === 'string' && JSON.stringify(wanted.when).includes(`"${name}"`));
  for (let index = 0; index < 400; index += 1) {
    const example = examples[(from + index * 7) % examples.length];
    // A test of a policy with requests names its request.
    const isUnnamed = document.requests !== undefined && Object.keys(example?.when ?? {}).length === 0;
    if (example === undefined || isUnnamed) continue;
    const principal = setting.callerOf(example.given);
    const attempt = setting.attemptOf(example.when);
    if (!evaluates(() => isDescribed(property, principal, attempt))) continue;
    const { approval = 'none' } = example.given;
    if (property.approval !== undefined && property.approval !== approval) continue;
    const alone = policy.decide(principal, attempt);
    const decision = decisionWith(approval, alone, () => approvalsKey.inPlan(alone.plan)?.needed(principal, attempt));
    if (isLeftOut(decision) || (isLeftOut(listing.decide(principal, attempt)) && !isNamed(example.when))) continue;
    if (!isExpected(decision, property.wanted)) return { example, decision };
  }
  return undefined;
}

/** A policy could promise nothing on values that the gateway refuses for their mere size or spelling. */
function isLeftOut(decision: Decision): boolean {
  const denial = decision.allow ? decision.shadow : decision.denial;
  return denial?.reason === 'policy.error' || /only an exact entry covers a/.test(denial?.detail ?? '');
}

/** What a policy lists, without any condition. */
function listingOf({ tools, resources, prompts, methods, requests: listed }: PolicyDocument): Policy {
  const bare = (entries: object = {}): Record<string, object> =>
    Object.fromEntries(Object.keys(entries).map((name) => [name, {}]));
  return policyOf({
    ...(tools && { tools: bare(tools) }),
    ...(resources && { resources: bare(resources) }),
    ...(prompts && { prompts: bare(prompts) }),
    ...(methods && { methods: bare(methods) }),
    ...(listed && { requests: bare(listed) }),
  });
}

function evaluates(described: () => boolean): boolean {
  try {
    return described();
  } catch {
    return false;
  }
}
