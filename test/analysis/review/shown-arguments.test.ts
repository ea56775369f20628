import { expect, test } from 'vitest';
import type { Config } from '../../../src/ports/config.ts';
import type { DecisionRecord } from '../../../src/core/model/decision.ts';
import type { Route } from '../../../src/core/model/route.ts';
import { compilePolicy } from '../../../src/policy-parts/compile.ts';
import { differenceOf } from '../../../src/analysis/review/replay.ts';
import { explainRecord } from '../../../src/analysis/review/explained.ts';
import { recordedDecision } from '../../../src/analysis/review/recorded-decision.ts';

const atMost = (most: number) =>
  compilePolicy('t', { tools: { pay: { arguments: { '/amount': { at_most: most } } } } });
const policy = atMost(100);
const stricter = atMost(10);
const route = { name: 'tools', protocol: 'mcp', policy } as Route;
const config = { routes: [route], scopeHierarchy: new Map() } as unknown as Config;

function recorded(shown: object | undefined, more: object = {}): DecisionRecord {
  const call = { route: 'tools', issuer: 'https://as.example', subject: 'alice', method: 'tools/call', tool: 'pay' };
  const line = { msg: 'decision', decision: 'd', allow: true, policy: 't', ...call, arguments: shown, ...more };
  const record = recordedDecision(line);
  if (record === undefined) throw new TypeError('no record');
  return record;
}
const changeOf = (record: DecisionRecord, by = stricter): string | undefined => {
  const found = differenceOf(record, route, by, config);
  return found && `${found.change}: ${found.after}`;
};
const unknown = 'unknown: depends on arguments, which are not logged';

test('arguments that a line shows are decided again', () => {
  expect(changeOf(recorded({ '/amount': 50 }))).toBe('would be denied: deny argument.denied');
  expect(changeOf(recorded({ '/amount': 5 }))).toBeUndefined();
  const denied = { allow: false, reason: 'argument.denied' };
  expect(changeOf(recorded({ '/amount': 500 }, denied), atMost(1000))).toBe('would be allowed: allow');
  expect(explainRecord(config, recorded({ '/amount': 50 })).conditions).toMatchObject([
    { rule: 'tools.pay', outcome: 'holds', parts: [{ rule: 'tools.pay.arguments./amount', found: '50' }] },
  ]);
});

test.for<[string, object | undefined]>([
  ['not shown', undefined],
  ['of another pointer', { '/to': 'bob' }],
  ['a number that JSON.parse rounds', { '/amount': 2 ** 60 }],
  ['a text that may be cut', { '/amount': 'x'.repeat(256) }],
])('an argument that is %s leaves the decision unknown', ([, shown]) => {
  expect(changeOf(recorded(shown))).toBe(unknown);
});

test('an argument that only one of the policies reads has to be shown too', () => {
  const more = compilePolicy('t', { tools: { pay: { arguments: { '/amount': { at_most: 10 }, '/to': 'bob' } } } });
  expect(changeOf(recorded({ '/amount': 5 }), more)).toBe(unknown);
  expect(changeOf(recorded({ '/amount': 5, '/to': 'bob' }), more)).toBeUndefined();
});
