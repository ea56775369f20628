import { describe, expect, test } from 'vitest';
import { DraftProcess } from '../../../src/capabilities/console/draft-process.ts';
import type { DraftTask } from '../../../src/capabilities/console/draft.ts';
import type { DraftQuestion } from '../../../src/capabilities/console/messages.ts';
import { startBeforeAll } from '../../support/start-before.ts';

const question: DraftQuestion = {
  claims: '',
  scope: 'write',
  lifetime: '',
  kind: 'tool',
  name: 'get',
  arguments: '',
  history: '',
};
const base: DraftTask = {
  policy: 'p',
  text: 'scope: read\n',
  inForce: '{}\n',
  tests: undefined,
  scopeHierarchy: new Map([['write', ['read']]]),
  issuer: 'https://issuer.example',
  route: { name: 'tools', protocol: 'mcp' },
  question,
  decisions: undefined,
};

/** It starts anew after a test that ended it. */
const drafts = startBeforeAll(() => new DraftProcess());

test('decides a described call with the scopes that the configuration implies', async () => {
  const { answer } = await drafts.run(base);
  expect(answer).toMatchObject({ allow: true });
  const { problems } = await drafts.run({ ...base, text: 'scpe: read\n' });
  expect(problems).toEqual([
    { line: 1, column: 1, message: expect.stringMatching(/^scpe: unknown key \(did you mean scope\?\)/) as string },
  ]);
});

describe('calls before', () => {
  const text = 'scope: read\ntools: { approve: {}, pay: { after: { tool: approve, within: 1h } } }\n';
  async function answerAfter(history: string): Promise<unknown> {
    return (await drafts.run({ ...base, text, question: { ...question, name: 'pay', history } })).answer;
  }

  test.each([
    ['', { allow: true, unknown: ['earlier calls'] }, { outcome: 'unknown' }],
    ['[]', { allow: false, reason: 'history.missing', unknown: [] }, { outcome: 'fails', found: 'no call' }],
    ['- { tool: approve, ago: 10m }', { allow: true, unknown: [] }, { outcome: 'holds', found: 'a call 600 s ago' }],
    ['- { tool: approve, ago: 10m, subject: bob }', { allow: false }, { outcome: 'fails', found: 'no call' }],
    ['[{"tool":"approve","ago":"2h"}]', { allow: false }, { outcome: 'fails', found: 'no call' }],
  ])('R-278: %j are counted as in a test of the policy', async (history, decision, condition) => {
    expect(await answerAfter(history)).toMatchObject({
      ...decision,
      conditions: expect.arrayContaining([
        expect.objectContaining({ kind: 'history', rule: 'tools.pay.after', ...condition }),
      ]) as unknown,
    });
  });

  test.each([
    ['- { tool: approve }', 'history:1:3: [0]: missing key: ago'],
    ['- { tool: approve, ago: soon }', 'history:1:25: [0].ago: '],
    ['approve', 'history:1:1: '],
    ['- {', 'history:'],
  ])('%j are no list of calls, with the place and the reason', async (history, fault) => {
    expect(await answerAfter(history)).toEqual({ fault: expect.stringContaining(fault) as string });
  });
});

test('says what the edit means beside the policy in force, for every caller', async () => {
  const { meaning } = await drafts.run({ ...base, inForce: 'scope: write\n', decisions: [] });
  expect(meaning).toEqual({
    differences: [
      {
        kind: 'newly allowed',
        rule: 'policy',
        was: 'scope.insufficient',
        now: 'allow',
        witness: ['given: { scope: read }', 'when: {}'],
      },
      expect.objectContaining({ kind: 'asked for other scopes', was: 'write', now: 'read' }),
    ],
    undecided: [],
  });
  expect((await drafts.run({ ...base, inForce: base.text, decisions: [] })).meaning?.differences).toEqual([]);
});

/** A task that takes seconds and much memory. */
const large = (): DraftTask => {
  const tests = Array.from({ length: 60_000 }, (_, at) => `- { name: t${at}, given: {}, when: {}, then: allow }\n`);
  return { ...base, tests: tests.join('') };
};

test('gives up a draft that takes too long, and tries the next one', async () => {
  const impatient = new DraftProcess({ timeMs: 1, memoryMb: 1_000 });
  await expect(impatient.run(large())).rejects.toThrow('The draft takes longer than 0.001 s.');
  await expect(impatient.run(large())).rejects.toThrow('longer');
  impatient.close();
});

test('gives up a draft that needs too much memory, and goes on serving', async () => {
  const small = new DraftProcess({ timeMs: 60_000, memoryMb: 24 });
  await expect(small.run(large())).rejects.toThrow(/more than 24 MB/);
  await expect(small.run(base)).resolves.toMatchObject({ problems: [] });
  small.close();
});

test('goes on when the process ends in the middle of a draft', async () => {
  await drafts.run(base);
  const { pid = NaN } = drafts;
  process.kill(pid, 'SIGSTOP');
  const stopped = drafts.run(base);
  process.kill(pid, 'SIGKILL');
  await expect(stopped).rejects.toThrow('The draft ended the process that tried it (SIGKILL)');
  await expect(drafts.run(base)).resolves.toMatchObject({ problems: [] });
  expect(drafts.pid).not.toBe(pid);
});

test('goes on when the idle process ends', async () => {
  await drafts.run(base);
  process.kill(drafts.pid ?? NaN, 'SIGKILL');
  await expect.poll(() => drafts.pid).toBeUndefined();
  await expect(drafts.run(base)).resolves.toMatchObject({ problems: [] });
});

test('refuses a draft when too many wait', async () => {
  const runs = Array.from({ length: 9 }, () => drafts.run(base).then(() => 'tried', String));
  expect((await Promise.all(runs)).filter((each) => each !== 'tried')).toEqual([
    'AdminRefusal: Too many drafts are being tried.\n',
  ]);
});
