import { expect, test } from 'vitest';
import { differencesOf } from '../../conformance/compare.ts';
import type { Check } from '../../conformance/suite.ts';

const check = (status: Check['status'], messagesValidated?: number): Check => ({
  id: 'a',
  name: 'A',
  status,
  ...(messagesValidated !== undefined && { details: { messagesValidated } }),
});

test.each([
  ['a success that fails through the gateway', 'x', check('SUCCESS'), check('FAILURE'), 1],
  ['a failure that succeeds through the gateway', 'x', check('FAILURE'), check('SUCCESS'), 1],
  ['a check that is skipped through the gateway', 'x', check('SUCCESS'), check('SKIPPED'), 1],
  ['another number of messages', 'x', check('SUCCESS', 2), check('SUCCESS', 3), 1],
  ['the same outcome', 'x', check('FAILURE', 2), check('FAILURE', 2), 0],
  ['another number of messages where the suite polls', 'tasks-x', check('SUCCESS', 2), check('SUCCESS', 3), 0],
  ['another status where the suite polls', 'tasks-x', check('FAILURE', 2), check('SUCCESS', 2), 1],
])('%s', (_, scenario, direct, through, wanted) => {
  const differences = differencesOf([scenario], new Map([[scenario, [direct]]]), new Map([[scenario, [through]]]));
  expect(differences).toHaveLength(wanted);
});

test('a check that is made on one way only', () => {
  const one = new Map([['x', [check('SUCCESS'), check('SUCCESS')]]]);
  const other = new Map([['x', [check('SUCCESS')]]]);
  expect(differencesOf(['x'], one, other)).toEqual([{ scenario: 'x', direct: check('SUCCESS'), through: undefined }]);
  expect(differencesOf(['x'], other, one)).toHaveLength(1);
});
