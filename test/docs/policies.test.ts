import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import policySchema from '../../schema/policy.schema.json' with { type: 'json' };
import testSchema from '../../schema/policy-test.schema.json' with { type: 'json' };
import { attemptOf, callerOf, fulfils } from '../../src/analysis/review/described-caller.ts';
import type { PolicyTest } from '../../src/policy-files/policy-tests.ts';
import { violations } from '../../src/core/config/violations.ts';
import { slowPart } from '../../src/policy-files/slow-pattern.ts';
import { refusals } from '../../src/capabilities/all.ts';
import { mcpMethod } from '../../src/core/model/mcp.ts';
import { policyReasons } from '../../src/analysis/review/policy-reasons.ts';
import { compilePolicy } from '../../src/policy-parts/compile.ts';
import type { PolicyDocument, ValueDocument } from '../../src/core/policy/document.ts';
import { blocksIn, sectionsOf } from './page.ts';

const page = await readFile(new URL('../../docs/policies.md', import.meta.url), 'utf8');
const values = (await sectionsOf('policies.md')).get('Values') ?? '';
const patterns = (await sectionsOf('policies.md')).get('Patterns') ?? '';
const blocks = blocksIn(page);
const spans = new Set([...page.matchAll(/`([^`\n]+)`/g)].map(([, span = '']) => span));

function decided(claims: PolicyDocument['claims'], found: Readonly<Record<string, unknown>>): boolean {
  const policy = compilePolicy('p', { ...(claims && { claims }) });
  return policy.decide(callerOf({ claims: found }, new Map(), ''), { kind: 'http' }).allow;
}

describe('the table of values', () => {
  const rows = values.matchAll(/^\| `([^`]+)` +\| ([^|]+)\| ([^|]+)\|$/gm);
  const cases: (readonly [wanted: string, found: string, holds: boolean])[] = [];
  for (const [, wanted = '', holds = '', fails = ''] of rows) {
    for (const found of valuesIn(holds)) cases.push([wanted, found, true]);
    for (const found of valuesIn(fails)) cases.push([wanted, found, false]);
  }

  test('has its cases', () => expect(cases.length).toBeGreaterThan(50));

  test.each(cases)('%s holds for %s: %s', (wanted, found, holds) => {
    const claims = { x: parse(wanted) as ValueDocument };
    expect(violations('policy', { claims })).toEqual([]);
    expect(decided(claims, found === 'nothing' ? {} : { x: JSON.parse(found) as unknown })).toBe(holds);
  });
});

test('the refused patterns of the page are refused, and their replacements are accepted', () => {
  const rows = [...patterns.matchAll(/^\| `(.+?)` +\| .+? \| ([^|]+)\|$/gm)];
  expect(rows.length).toBe(5);
  const refused = rows.map(([, pattern = '']) => pattern.replaceAll('\\|', '|'));
  const instead = rows.flatMap(([, , cell = '']) =>
    [...cell.matchAll(/`([^`]+)`/g)].map(([, pattern = '']) => pattern),
  );
  expect(refused.filter((pattern) => slowPart(pattern) === undefined)).toEqual([]);
  expect(instead.filter((pattern) => slowPart(pattern) !== undefined)).toEqual([]);
});

/** JSON in code spans, and the word "nothing". */
function valuesIn(cell: string): readonly string[] {
  return [...cell.matchAll(/`([^`]+)`|(nothing)/g)].map(([, json, word]) => json ?? word ?? '');
}

test('every block is a policy or its tests', () => {
  expect(blocks.length).toBeGreaterThan(3);
  for (const { text, file } of blocks) {
    const document = parse(text) as PolicyDocument;
    const isTest = file?.endsWith('.test.yaml') === true;
    expect(violations(isTest ? 'policy-test' : 'policy', document)).toEqual([]);
    if (!isTest) compilePolicy('p', document);
  }
});

test('the example passes its tests', () => {
  const named = (file: string): unknown => parse(blocks.find((block) => block.file === file)?.text ?? '');
  const policy = compilePolicy('orders', named('policies/orders.yaml') as PolicyDocument);
  const tests = named('policies/orders.test.yaml') as readonly PolicyTest[];
  for (const { name, given, when, then } of tests) {
    const decision = policy.decide(callerOf(given, new Map(), ''), attemptOf(when));
    expect({ name, passes: fulfils(decision, then) }).toEqual({ name, passes: true });
  }
});

test('the page has every key of both languages', () => {
  const keys = [
    ...Object.keys(policySchema.properties),
    ...Object.keys(testSchema.$defs.test.properties),
    ...Object.keys(testSchema.$defs.given.properties),
    ...Object.keys(testSchema.$defs.when.properties),
  ];
  const known = (key: string): boolean => spans.has(key) || spans.has(`${key}: shadow`) || page.includes(`  ${key}: `);
  expect(keys.filter((key) => key !== 'name' && !known(key))).toEqual([]);
  const predicates = Object.keys(policySchema.$defs.value.properties);
  const inTable = (name: string): boolean => [...spans].some((span) => new RegExp(`^\\{.*\\b${name}:`).test(span));
  expect(predicates.filter((name) => !inTable(name))).toEqual([]);
});

test('the page names only existing reasons, and every reason of a policy', () => {
  const named = [...spans].filter((span) => /^[a-z_]+\.[a-z_]+$/.test(span) && !span.endsWith('.yaml'));
  expect(named.filter((name) => !Object.hasOwn(refusals, name) && name !== 'params.arguments')).toEqual([]);
  expect(policyReasons.filter((reason) => !spans.has(reason))).toEqual([]);
});

test('the page lists the housekeeping methods', () => {
  const named = ['initialize', 'ping', 'server/discover', 'logging/setLevel', 'subscriptions/listen'];
  const allowedBy = (method: string): string => mcpMethod(method).allowedBy;
  for (const method of named) expect([spans.has(method), allowedBy(method)]).toEqual([true, 'housekeeping']);
  expect(allowedBy('tools/list')).toBe('housekeeping');
  expect(allowedBy('tasks/list')).toBe('exact entry');
});
