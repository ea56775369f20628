import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { targetsOf } from '../../src/mcp/message.ts';
import { mcpMethod } from '../../src/model/mcp.ts';
import { Denial } from '../../src/model/denial.ts';
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

/** The names, or the reason of the Denial. */
function read(called: string, given: Readonly<Record<string, unknown>>): readonly string[] | string {
  try {
    return targetsOf(mcpMethod(called), given, 1).map(({ name }) => name);
  } catch (error) {
    if (error instanceof Denial && error.messageId === 1) return error.reason;
    throw error;
  }
}

property(
  'any parameters give what they name and nothing else, or a Denial',
  [method, params],
  (called, given) => {
    const found = read(called, given);
    const one = /^(?:tools\/call|prompts\/get)$/.test(called)
      ? 'name'
      : called.startsWith('resources/')
        ? 'uri'
        : undefined;
    const isSound =
      typeof found === 'string'
        ? /^body\.(?:message|ambiguous)$/.test(found)
        : (one === undefined || (found.length === 1 && found[0] === given[one])) &&
          found.every((each) => JSON.stringify(given).includes(JSON.stringify(each)));
    expect(isSound).toBe(true);
  },
  { numRuns: runs },
);

const of = (method: string, params: Record<string, unknown>): unknown => {
  try {
    return targetsOf(mcpMethod(method), params, 7);
  } catch (error) {
    const { reason, messageId } = error as Denial;
    return [reason, messageId];
  }
};
const listening = (notifications: unknown): unknown => of('subscriptions/listen', { notifications });
const refused = ['body.message', 7];

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
    expect(of('tools/call', { name: 'pay\0_read' })).toEqual(['body.ambiguous', 7]);
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
    ['resourceSubscriptions', []],
    [{ resourceSubscriptions: 'x://a' }, refused],
    [{ resourceSubscriptions: null }, refused],
    [{ resourceSubscriptions: ['x://a', 1] }, refused],
    [{ resourceSubscriptions: [1] }, refused],
    [{ ResourceSubscriptions: ['x://a'] }, ['body.ambiguous', 7]],
    [{ resourceSubscriptions: ['x://a\0b'] }, ['body.ambiguous', 7]],
  ])('%j', (notifications, wanted) => expect(listening(notifications)).toEqual(wanted));

  test('refuses more than 100 subscriptions, because the policy decides on each', () => {
    const uris = Array.from({ length: 101 }, (_, i) => `x://${i}`);
    expect(listening({ resourceSubscriptions: uris.slice(1) })).toHaveLength(100);
    expect(listening({ resourceSubscriptions: uris })).toEqual(refused);
  });
});
