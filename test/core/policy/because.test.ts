import type { PolicyDocument } from '../../../src/core/policy/document.ts';
import { decides } from './decides.ts';

/** Tests the reason of a denial, and the words that the client gets with it. */
function words(title: string, document: PolicyDocument, lines: string): void {
  decides(title, document, lines, (decision) =>
    decision.allow
      ? `allow ${decision.rule}`
      : `${decision.denial.reason} ${'because' in decision.denial ? decision.denial.because : '-'}`,
  );
}

const policy: PolicyDocument = {
  scope: 'read',
  claims: { blocked: { not: true } },
  because: 'of the policy',
  tools: {
    'get_*': {},
    pay: {
      scope: 'payments',
      claims: { role: 'trader' },
      arguments: { '/amount': { at_most: 1000 }, '/note': { matches: '^x' } },
      max_lifetime: '60s',
      because: 'of pay',
    },
    ops: { claims: { role: 'ops' } },
  },
  resources: { 'a:b': { claims: { role: 'ops' }, because: 'of a:b' } },
  prompts: { plan: { claims: { role: 'ops' }, because: 'of plan' } },
  methods: {
    'prompts/get': { claims: { region: 'EU' }, because: 'of prompts/get' },
    'x/y': { claims: { role: 'ops' } },
  },
};
const trader = 'read payments {"role":"trader","region":"EU"} for 60s';

words(
  'a final refusal has the words of the entry that refuses, or else those of the policy',
  policy,
  `
{"blocked":true} | call pay → claim.denied of the policy
read {"role":"ops"} | call pay → claim.denied of pay
${trader} | call pay {"amount":1001} → argument.denied of pay
${trader} | call pay {"amount":1,"note":"${'x'.repeat(5000)}"} → policy.error of the policy
${trader} | call ops → claim.denied of the policy
${trader} | call drop → tool.unlisted of the policy
${trader} | x/z → method.unlisted of the policy
${trader} | x/y → claim.denied of the policy
${trader} | read a:b → claim.denied of a:b
${trader} | read a:c → resource.unlisted of the policy
${trader} | get plan → claim.denied of plan
read {"role":"ops"} | get plan → claim.denied of prompts/get
${trader} | call get_x → allow tools.get_*`,
);

words(
  'a refusal that a new token can mend has none',
  policy,
  `
read {"role":"trader"} for 60s | call pay {"amount":1,"note":"x"} → scope.insufficient -
{"role":"trader"} for 60s | call pay {"amount":1,"note":"x"} → scope.insufficient -
read payments {"role":"trader"} | call pay {"amount":1,"note":"x"} → lifetime.exceeded -`,
);

const own = { because: 'of the policy' };
words('any has words', { ...own, any: [{ claims: { a: 1 } }] }, 'http → alternatives.exhausted of the policy');
words(
  'any that only a shorter lifetime would meet has those of its entry',
  { ...own, tools: { a: {}, b: { any: [{ max_lifetime: '1m' }], because: 'of b' } } },
  'call b → alternatives.exhausted of b',
);
words('not has words', { ...own, not: {} }, 'http → exclusion.matched of the policy');
words('a policy without words adds no member', { tools: { a: { claims: { b: 1 } } } }, 'call a → claim.denied -');
words(
  'the words follow the entries of its lists, not the first entry',
  { resources: { 'a:b': { because: 'first' }, 'c:d': { claims: { role: 'ops' }, because: 'second' } } },
  'listen a:b c:d → claim.denied second',
);
