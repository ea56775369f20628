import { test } from 'vitest';
import { callOf, get, post } from './requests.ts';
import { AUDIENCE, startAttackWorld } from '../worlds/attacks.ts';
import { startBeforeAll } from '../support/start-before.ts';

// test/policy/patterns/slow-pattern.test.ts has the patterns that are refused, test/config/policies.test.ts where.

/** Patterns that the gateway takes, and texts that look as if they made a backtracking engine go back for long. */
const patterns: readonly (readonly [tool: string, pattern: string, texts: readonly string[]])[] = [
  ['mail', '^[\\\\w.-]+@[\\\\w.-]+$', ['a'.repeat(4096), `${'a.'.repeat(2047)}!`, `${'a@'.repeat(2047)}!`]],
  ['host', '^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\\\\.)+[a-z]{2,}$', [`${'a-'.repeat(2047)}!`, 'a.'.repeat(2048)]],
];

const world = startBeforeAll(async () => {
  const tools = patterns.map(([tool, pattern]) => `  ${tool}: { arguments: { /text: { matches: "${pattern}" } } }\n`);
  return startAttackWorld({
    routes: [`name: claim, path: /claim, audience: "${AUDIENCE}", policy: claim, upstream: { url: "UPSTREAM" }`],
    policies: {
      tools: `scope: read\ntools:\n${tools.join('')}`,
      claim: `claims: { text: { matches: "${patterns[0]?.[1]}" } }\n`,
    },
  });
});

test.each(patterns)(
  'the pattern of %s is matched without delay, a longer text not at all',
  async (tool, _pattern, texts) => {
    for (const text of [...texts, 'a'.repeat(4097)]) {
      await world.withstand(post(world.authorization, callOf(tool, { text })), {
        statuses: [403],
        reasons: [text.length > 4096 ? 'policy.error' : 'argument.denied'],
      });
    }
  },
);

test('a claim is tested like an argument', async () => {
  const request = get('/claim', await world.token({ text: `${'a.'.repeat(2047)}!` }));
  await world.withstand(request, { statuses: [403], reasons: ['claim.denied'] });
});
