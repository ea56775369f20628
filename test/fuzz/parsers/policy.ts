import { readPolicies } from '../../../src/config/policies.ts';
import type { Files } from '../../../src/config/files.ts';
import type { Attempt } from '../../../src/model/policy.ts';
import { call, caller, message } from '../../policy/caller.ts';
import { must } from './must.ts';
import type { Reader } from '../reader.ts';

const alice = caller({
  scope: 'read',
  lifetime: 60,
  claims: { risk: 7, tenant: 'acme', roles: ['a'], realm_access: { roles: ['trader'] }, n: '12', big: 2 ** 53 },
});
const attempts: readonly Attempt[] = [
  { kind: 'http' },
  call('get_prices', { amount: 10 }),
  message('resources/read', 'resource prices://gold'),
  { ...message('prompts/get', 'prompt summary'), arguments: { a: 'b' } },
  message('odd/method'),
];

/** The text of a policy: gives problems, or a policy whose decisions agree with its explanations. */
async function check(input: Buffer): Promise<void> {
  const files: Files = {
    at: 0,
    names: () => Promise.resolve(['x.yaml']),
    text: () => Promise.resolve({ text: input.toString() }),
  };
  const { policies, problems } = await readPolicies('policies', 'policies', files);
  const policy = policies.get('x');
  must((policy === undefined) === problems.length > 0, 'a policy and a problem, or neither');
  for (const problem of problems)
    must(/^policies\/x\.yaml(?::\d+:\d+)?: ./.test(String(problem)), 'a problem without a place');
  if (policy === undefined) return;
  for (const attempt of attempts) {
    const decision = policy.decide(alice, attempt);
    const allows = decision.allow && decision.shadow === undefined;
    const holds = decision.plan.explain(alice, attempt).every(({ outcome }) => outcome === 'holds');
    must(!allows || holds, 'allowed, but a condition does not hold');
    must(allows || !holds, 'refused, but every condition holds');
    if (allows) for (const scope of decision.plan.neededScopes(alice)) must(typeof scope === 'string', 'no scope');
  }
}

export const policy: Reader = {
  check,
  words: (
    'scope: read\n|claims:\n|  risk: |{ below: 50 }|any:\n|- |not: |tools:\n|  "get_*": {}\n|' +
    'resources: { "prices://*": {} }\n|arguments: { /amount: { at_most: 10 } }|matches: "^a"|' +
    'max_lifetime: 60s\n|mode: shadow\n|&a |*a|{|}|[|]|: |\n|  |integer: true|methods:\n|' +
    'prompts: {}\n|present: false|contains: a'
  ).split('|'),
};
