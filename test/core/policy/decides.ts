import { describe, expect, test } from 'vitest';
import type { Attempt, Decision } from '../../../src/core/model/policy.ts';
import type { PolicyDocument } from '../../../src/core/policy/document.ts';
import { call, decide, type Given, message, told } from './caller.ts';

/**
 * Tests what a policy decides, by lines of `CALLER | CALL → DECISION`:
 *
 * - CALLER: scopes, claims as JSON, and a lifetime such as `for 60s`, or `for null`; nothing and no `|` for a caller without any.
 * - CALL: `http`, `call TOOL ARGUMENTS`, `get PROMPT ARGUMENTS`, `read URI`, `listen URI…`, `response`, or a method with its
 *   targets, each `KIND NAME`. ARGUMENTS are JSON. A name in quotes is JSON too. ` / ` separates names with one decision.
 * - DECISION: as `tell` writes it.
 */
export function decides(
  title: string,
  document: PolicyDocument,
  lines: string,
  tell: (decision: Decision) => string = told,
): void {
  const rows = lines.trim().split('\n').flatMap(rowsOf);
  // oxlint-disable-next-line vitest/valid-title -- The caller has it.
  describe(title, () => {
    test.each(rows)('%s', (_line, given, attempt, decision) => {
      expect(tell(decide(document, given, attempt))).toBe(decision);
    });
  });
}

type Row = readonly [line: string, given: Given, attempt: Attempt, decision: string];

function rowsOf(line: string): readonly Row[] {
  const [, caller = '', what = '', decision = ''] = /^(?:(.*?) \| )?(.+) → (.+)$/.exec(line.trim()) ?? [];
  if (decision === '') throw new Error(`not a row: ${line}`);
  const [, verb = '', names = ''] = /^(\S+) ?(.*)$/.exec(what.trim()) ?? [];
  return names
    .split(' / ')
    .map((name) => [`${caller} | ${verb} ${name} → ${decision}`, givenOf(caller), attemptOf(verb, name), decision]);
}

function givenOf(text: string): Given {
  const [, scope = '', claims = '{}', lifetime] = /^([^{]*?) ?(\{.*\})?(?: ?for (\S+))?$/.exec(text.trim()) ?? [];
  return {
    scope,
    claims: JSON.parse(claims) as Record<string, unknown>,
    ...(lifetime !== undefined && { lifetime: lifetime === 'null' ? null : Number(lifetime.replace(/s$/, '')) }),
  };
}

function attemptOf(verb: string, rest: string): Attempt {
  const [, written, json] = /^("(?:[^"\\]|\\.)*"|\S+)(?: (.+))?$/.exec(rest) ?? [];
  const name = written?.startsWith('"') === true ? (JSON.parse(written) as string) : written;
  const args =
    json === undefined ? undefined : (JSON.parse(verb === 'call' || verb === 'get' ? json : 'null') as unknown);
  if (verb === 'http') return { kind: 'http' };
  if (verb === 'call') return call(name, args);
  if (verb === 'get') return { ...message('prompts/get', `prompt ${name ?? ''}`), arguments: args };
  if (verb === 'read') return message('resources/read', `resource ${name ?? ''}`);
  if (verb === 'response') return message(undefined);
  const words = rest.split(' ').filter((word) => word !== '');
  if (verb === 'listen') return message('subscriptions/listen', ...words.map((uri) => `resource ${uri}`));
  return message(verb, ...words.flatMap((kind, at) => (at % 2 === 0 ? [`${kind} ${words[at + 1] ?? ''}`] : [])));
}
