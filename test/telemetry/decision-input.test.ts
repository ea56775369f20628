import { expect, test } from 'vitest';
import type { Outcome } from '../../src/model/outcome.ts';
import { decisionInput } from '../../src/telemetry/decision-input.ts';
import { caller } from '../policy/caller.ts';

function inputOf(claims: Readonly<Record<string, unknown>>): ReturnType<typeof decisionInput> {
  const policy = { claimsRead: () => claims };
  return decisionInput({ route: { policy }, principal: caller({ lifetime: 60 }) } as unknown as Outcome);
}

test('the claims that were read, and the lifetime', () => {
  expect(inputOf({ tenant: 'acme', risk: 3 })).toEqual({ claims: { tenant: 'acme', risk: 3 }, lifetime: 60 });
});

test.each([
  ['too long', 'x'.repeat(600)],
  ['too deep to be written', JSON.parse(`${'['.repeat(20_000)}${']'.repeat(20_000)}`) as unknown],
])('a claim that is %s is named and left out', (_why, value) => {
  expect(inputOf({ tenant: 'acme', big: value })).toEqual({
    claims: { tenant: 'acme' },
    omitted: ['big'],
    lifetime: 60,
  });
});
