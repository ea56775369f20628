import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { targetsOf } from '../../src/mcp/message.ts';
import { mcpMethod } from '../../src/core/model/mcp.ts';
import { Denial } from '../../src/core/model/denial.ts';
import type { McpTarget } from '../../src/core/model/policy.ts';
import type { Members } from '../../src/core/lib/json/own-member.ts';
import { orDenial } from '../support/denial.ts';
import { runs } from '../support/runs.ts';
import { property } from '../support/property.ts';
import { words } from '../support/words.ts';

const method = fc.constantFrom(
  ...words('tools/call prompts/get resources/read resources/subscribe completion/complete subscriptions/listen'),
  ...words('tools/list __proto__'),
);
const anything = fc.jsonValue({ maxDepth: 2 });
const params = fc.record(
  {
    name: fc.oneof(fc.string(), anything),
    uri: fc.oneof(fc.string(), anything),
    ref: fc.oneof(
      fc.record({ type: fc.constantFrom('ref/prompt', 'ref/resource'), name: fc.string(), uri: fc.string() }),
      anything,
    ),
    notifications: fc.oneof(fc.record({ resourceSubscriptions: fc.array(fc.string()) }), anything),
  },
  { requiredKeys: [] },
);

const of = (called: string, given: Members): readonly McpTarget[] | Denial =>
  orDenial(() => targetsOf(mcpMethod(called), given, 7));

property(
  'any parameters give what they name and nothing else, or a Denial',
  [method, params],
  (called, given) => {
    const targets = of(called, given);
    if (targets instanceof Denial) {
      expect(targets.reason).toMatch(/^body\.(?:message|ambiguous)$/);
      return;
    }
    const names = targets.map(({ name }) => name);
    if (/^(?:tools\/call|prompts\/get)$/.test(called)) expect(names).toEqual([given['name']]);
    if (called.startsWith('resources/')) expect(names).toEqual([given['uri']]);
    for (const name of names) expect(JSON.stringify(given)).toContain(JSON.stringify(name));
  },
  { numRuns: runs },
);

const listening = (notifications: unknown): unknown => of('subscriptions/listen', { notifications });
const refusal = (reason: string): unknown => expect.objectContaining({ reason, messageId: 7 });
const refused = refusal('body.message');

describe('what a message acts on', () => {
  test.each([
    ['tools/call', { name: 'a', uri: 'b' }, [{ kind: 'tool', name: 'a' }]],
    ['prompts/get', { name: 'a', uri: 'b' }, [{ kind: 'prompt', name: 'a' }]],
    ['resources/read', { name: 'a', uri: 'b' }, [{ kind: 'resource', name: 'b' }]],
    ['resources/subscribe', { name: 'a', uri: 'b' }, [{ kind: 'resource', name: 'b' }]],
    ['resources/unsubscribe', { name: 'a', uri: 'b' }, [{ kind: 'resource', name: 'b' }]],
    ['tools/list', { name: 'a', uri: 'b', ref: { type: 'ref/prompt', name: 'a' } }, []],
    ['tools/list', { notifications: { resourceSubscriptions: ['x://a'] } }, []],
    ['toString', { name: 'a' }, []],
  ])('%s', (method, params, wanted) => expect(of(method, params)).toEqual(wanted));

  test.each(['tools/call', 'prompts/get', 'resources/read', 'resources/subscribe', 'resources/unsubscribe'])(
    '%s of nothing, or of what is no string, is refused',
    (method) => {
      expect(of(method, {})).toEqual(refused);
      expect(of(method, { name: 1, uri: 1 })).toEqual(refused);
      expect(of(method, Object.create({ name: 'inherited', uri: 'inherited' }) as object as {})).toEqual(refused);
    },
  );

  test('refuses a name with a NUL, where the name ends in C', () => {
    expect(of('tools/call', { name: 'pay\0_read' })).toEqual(refusal('body.ambiguous'));
  });
});

describe('R-95: completion/complete acts on what it refers to', () => {
  test.each([
    [{ type: 'ref/prompt', name: 'a' }, [{ kind: 'prompt', name: 'a' }]],
    [{ type: 'ref/resource', uri: 'x://a' }, [{ kind: 'resource', name: 'x://a' }]],
    [{ type: 'ref/resource', uri: 'x://{a}' }, [{ kind: 'template', name: 'x://{a}' }]],
    [{ type: 'ref/prompt', uri: 'x://a' }, refused],
    [{ type: 'ref/prompt', name: 1 }, refused],
    [{ type: 'ref/resource', name: 'a' }, refused],
    [{ type: 'ref/resource', uri: 1 }, refused],
    [{ type: 'ref/tool', name: 'a', uri: 'x://a' }, refused],
    [null, refused],
    [undefined, refused],
    ['ref/prompt', refused],
  ])('%j', (ref, wanted) => expect(of('completion/complete', { ref })).toEqual(wanted));
});

describe('R-96: MCP 2026-07-28: subscriptions/listen acts on each resource that it subscribes to', () => {
  test.each([
    [
      { resourceSubscriptions: ['x://a', 'x://b'] },
      [
        { kind: 'resource', name: 'x://a' },
        { kind: 'resource', name: 'x://b' },
      ],
    ],
    [{ resourceSubscriptions: [] }, []],
    [{ toolsListChanged: true }, []],
    [undefined, []],
    [null, []],
    ['{"resourceSubscriptions":["x://a"]}', refused],
    [['x://a'], refused],
    [{ resourceSubscriptions: 'x://a' }, refused],
    [{ resourceSubscriptions: null }, refused],
    [{ resourceSubscriptions: ['x://a', 1] }, refused],
    [{ resourceSubscriptions: [1] }, refused],
    [{ ResourceSubscriptions: ['x://a'] }, refusal('body.ambiguous')],
    [{ resourceSubscriptions: ['x://a\0b'] }, refusal('body.ambiguous')],
  ])('%j', (notifications, wanted) => expect(listening(notifications)).toEqual(wanted));

  test('refuses more than 100 subscriptions, because the policy decides on each', () => {
    const uris = Array.from({ length: 101 }, (_, i) => `x://${i}`);
    expect(listening({ resourceSubscriptions: uris.slice(1) })).toHaveLength(100);
    expect(listening({ resourceSubscriptions: uris })).toEqual(refused);
  });
});
