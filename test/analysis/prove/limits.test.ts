import { expect, test } from 'vitest';
import type { ConditionDocument } from '../../../src/core/policy/document.ts';
import { PartKey } from '../../../src/core/model/policy.ts';
import { compilePolicy } from '../../../src/core/policy/compile.ts';
import type { LanguagePart } from '../../../src/core/policy/part.ts';
import { prove } from '../../../src/analysis/prove/prove.ts';
import { compiled, deciding, policyOf, proofOf } from './deciding.ts';

/** More pigeons than holes, as claims: no search without a lemma is fast. */
function pigeons(holes: number): ConditionDocument {
  const inHole = (pigeon: number, hole: number): ConditionDocument => ({ claims: { [`p${pigeon}`]: `h${hole}` } });
  const numbers = Array.from({ length: holes + 1 }, (_, index) => index);
  const everywhere = numbers.map((pigeon) => ({ any: numbers.slice(1).map((hole) => inHole(pigeon, hole)) }));
  const alone = numbers
    .slice(1)
    .flatMap((hole) =>
      numbers.flatMap((one) =>
        numbers.slice(0, one).map((other) => ({ not: { all: [inHole(one, hole), inHole(other, hole)] } })),
      ),
    );
  return { all: [...everywhere, ...alone] };
}

const deny = JSON.parse('{"for_all":{},"when":{},"then":"deny"}') as Parameters<typeof compiled>[0];

test('R-230: a proof that would take too long is undecided, and names the part', () => {
  expect(proofOf(pigeons(3), deny)).toEqual({
    outcome: 'holds',
    examples: expect.arrayContaining([{ given: {}, when: {} }]) as unknown,
  });
  expect(prove(compiled(deny), policyOf(pigeons(6)), deciding(), 5000)).toEqual({
    outcome: 'undecided',
    why: ['policy: too many combinations'],
  });
});

test('a position far behind in an array is undecided', () => {
  const policy = { claims: { '/roles/32': 'x' } };
  expect(proofOf(policy, deny)).toEqual({ outcome: 'undecided', why: ['the position 32 of an array'] });
});

test('a part of the language that proofs do not know is undecided', () => {
  const key = new PartKey('seasons');
  const nothing = { steps: [], argumentsRead: () => [] };
  const about = { rules: [], conditions: [], bindsArguments: false, values: [], asks: [], owners: [] };
  const part: LanguagePart = { key, keys: [], compile: () => about, open: () => about, plan: () => nothing };
  const policy = compilePolicy('test', { tools: { pay: {} } }, [part]);
  expect(prove(compiled(deny), policy, deciding())).toEqual({
    outcome: 'undecided',
    why: ['the part seasons'],
  });
});
