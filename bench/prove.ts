/**
 * How long `sallyport test` takes to prove properties, by the size of the policy.
 *
 *     node bench/prove.ts
 *
 * @module
 */

import { decidingBy } from '../src/analysis/review/run-tests.ts';
import { compilePolicy } from '../src/policy-parts/compile.ts';
import type { ConditionDocument, PolicyDocument } from '../src/core/policy/document.ts';
import { closeHierarchy } from '../src/ports/scope-hierarchy.ts';
import { compileProperty, type PropertyDocument } from '../src/policy-files/property.ts';
import { prove } from '../src/analysis/prove/prove.ts';
import { markdownTable } from './table.ts';

const hierarchy = closeHierarchy({ write: ['read'] });
const deciding = decidingBy({ scopeHierarchy: hierarchy, defaultIssuer: 'https://as.example' });

/** A policy with tools under conditions of their own, one in ten of them under a pattern. */
function bank(tools: number): PolicyDocument {
  const entries = Array.from({ length: tools }, (_, index) => {
    if (index % 10 === 0) return [`area${index}_*`, { scope: `s${index % 7}` }] as const;
    const amount = { '/amount': { at_most: index }, '/to': { matches: '^[a-z]+$' } };
    return [
      `tool_${index}`,
      { scope: 'pay', claims: { role: ['trader', `r${index % 5}`] }, arguments: amount },
    ] as const;
  });
  return { scope: 'read', claims: { tenant: 'acme' }, tools: Object.fromEntries(entries) };
}

/** Blocks of alternatives over different claims, of which one can never be met. */
function blocks(size: number): PolicyDocument {
  const all: ConditionDocument[] = Array.from({ length: size }, (_, block) => ({
    any: Array.from({ length: size }, (_, index) => ({ claims: { [`c${block}_${index}`]: 'v' } })),
  }));
  return { all: [...all, { any: [{ claims: { c0_0: 'w' } }] }] };
}

const properties = [
  '{"for_all":{"not":{"claims":{"tenant":"acme"}}},"when":"any","then":"deny"}',
  '{"for_all":{"not":{"scope":"read"}},"when":{"tool":"any"},"then":"deny"}',
  '{"for_all":{},"when":{"tool":{"not":{"matches":"^(tool_|area)"}}},"then":"deny"}',
  '{"for_all":{"not":{"scope":"pay"}},"when":{"tool":{"matches":"^tool_"}},"then":"deny"}',
];
const withoutW = ['{"for_all":{"not":{"claims":{"c0_0":"w"}}},"when":{},"then":"deny"}'];

/** The time in milliseconds to decide `count` properties. */
function timed(document: PolicyDocument, texts: readonly string[], count: number): number {
  const policy = compilePolicy('bench', document);
  const start = performance.now();
  for (let index = 0; index < count; index += 1) {
    const property = JSON.parse(texts[index % texts.length] ?? '') as PropertyDocument;
    const { outcome } = prove(compileProperty(property, [], []), policy, deciding);
    if (outcome !== 'holds') throw new Error(`${document.scope as string}: ${outcome}`);
  }
  return performance.now() - start;
}

timed(bank(10), properties, 20);
const banks = [10, 100, 1000].flatMap((tools) =>
  [4, 20].map((count) => [`${tools} tools, ${count} properties`, timed(bank(tools), properties, count)] as const),
);
const withBlocks = [3, 6, 12, 24].map(
  (size) => [`${size} blocks of ${size} alternatives`, timed(blocks(size), withoutW, 1)] as const,
);
const lines = [...banks, ...withBlocks].map(([subject, ms]) => ({ subject, cells: { milliseconds: ms.toFixed(0) } }));
console.log(markdownTable(lines));
