import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { definitionOf, definitionsIn } from '../../src/mcp/guarded-message.ts';
import { definitionKey } from '../../src/mcp/definitions.ts';

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
const tool = (json: string) => definitionOf('tool', 'pay', JSON.parse(json));

test('R-265, RFC 8785 §3.2: the digest is that of the canonical text, and each member has the beginning of its own', () => {
  expect(tool('{"name": "pay", "description": "Pays.", "inputSchema": {"b": 1.0, "a": []}}')).toEqual({
    kind: 'tool',
    name: 'pay',
    sha256: sha256('{"description":"Pays.","inputSchema":{"a":[],"b":1},"name":"pay"}'),
    members: {
      name: sha256('"pay"').slice(0, 16),
      description: sha256('"Pays."').slice(0, 16),
      inputSchema: sha256('{"a":[],"b":1}').slice(0, 16),
    },
  });
});

test('of _meta the digests cover the members that hosts act on', () => {
  const canonical = '{"ui":{"resourceUri":"ui://pay"}}';
  expect(tool('{"name":"pay","_meta":{"at":7,"ui":{"resourceUri":"ui://pay"}}}')).toEqual({
    kind: 'tool',
    name: 'pay',
    sha256: sha256(`{"_meta":${canonical},"name":"pay"}`),
    members: { name: sha256('"pay"').slice(0, 16), _meta: sha256(canonical).slice(0, 16) },
  });
});

test('instructions are a text, and have no members', () => {
  expect(definitionOf('instructions', '', 'Pay first.')).toEqual({
    kind: 'instructions',
    name: '',
    sha256: sha256('"Pay first."'),
    members: {},
  });
});

describe('is the same', () => {
  test.for([
    ['members in another order', '{"a":1,"b":{"c":2,"d":3}}', '{"b":{"d":3,"c":2},"a":1}'],
    ['a number in another form', '{"a":100}', '{"a":1.0e2}'],
    ['a character that is escaped', '{"a":"é/"}', '{"a":"\\u00e9\\/"}'],
    ['white space', '{"a":1}', ' { "a" : 1 } '],
    ['another _meta', '{"a":1,"_meta":{"at":1}}', '{"a":1,"_meta":{"at":2}}'],
    ['no _meta', '{"a":1,"_meta":{"at":1}}', '{"a":1}'],
    ['a member of _meta whose name only resembles one that hosts act on', '{"a":1,"_meta":{"uid":7}}', '{"a":1}'],
    ['a member of _meta that ends like one that hosts act on', '{"a":1,"_meta":{"com.example/ui":7}}', '{"a":1}'],
    ['another _meta beside the interface', '{"a":1,"_meta":{"ui":{},"at":1}}', '{"_meta":{"at":2,"ui":{}},"a":1}'],
  ])('with %s', ([, one, other]) => {
    expect(tool(one as string)).toEqual(tool(other as string));
  });
});

describe('is another', () => {
  test.for([
    ['a text in another form of Unicode', '{"a":"\u00e9"}', '{"a":"e\u0301"}'],
    ['a list in another order', '{"a":[1,2]}', '{"a":[2,1]}'],
    ['a number as text', '{"a":1}', '{"a":"1"}'],
    ['null instead of no member', '{"a":1,"b":null}', '{"a":1}'],
    ['an invisible character', '{"a":"pay"}', '{"a":"pay\u200b"}'],
    ['a member __proto__', '{"a":1}', '{"a":1,"__proto__":{"b":2}}'],
    ['_meta within a member', '{"a":{"_meta":1}}', '{"a":{"_meta":2}}'],
    ['another case of a member', '{"a":1}', '{"A":1}'],
    ['an interface', '{"a":1}', '{"a":1,"_meta":{"ui":{"resourceUri":"ui://a"}}}'],
    ['no interface any more', '{"a":1,"_meta":{"ui/resourceUri":"ui://a"}}', '{"a":1,"_meta":{"at":1}}'],
    ['another interface', '{"_meta":{"ui":{"resourceUri":"ui://a"}}}', '{"_meta":{"ui":{"resourceUri":"ui://b"}}}'],
    ['another visibility', '{"_meta":{"ui":{"visibility":["app"]}}}', '{"_meta":{"ui":{"visibility":["model"]}}}'],
    ['another interface in the old form', '{"_meta":{"ui/resourceUri":"a"}}', '{"_meta":{"ui/resourceUri":"b"}}'],
    ['an interface in another form', '{"_meta":{"ui/resourceUri":"a"}}', '{"_meta":{"ui":"a"}}'],
    ['an interface under a name with a dot', '{"_meta":{"ui.resourceUri":"a"}}', '{}'],
    ['an interface under the identifier of the extension', '{"_meta":{"io.modelcontextprotocol/ui":{}}}', '{}'],
    ['an interface under a name in capitals, which Go reads as well', '{"_meta":{"UI":{"resourceUri":"a"}}}', '{}'],
    [
      'another template of a host',
      '{"_meta":{"openai/outputTemplate":"a"}}',
      '{"_meta":{"openai/outputTemplate":"b"}}',
    ],
    ['another hint of a host for models', '{"_meta":{"anthropic/searchHint":"a"}}', '{"_meta":{}}'],
  ])('with %s', ([, one, other]) => {
    expect(tool(one as string).sha256).not.toBe(tool(other as string).sha256);
  });
});

test.for([
  ['a lone surrogate', '{"a":"\\ud800"}'],
  ['a number that IEEE 754 does not have', '{"a":1e400}'],
])('%s has no canonical text, and so no digest that could be approved', ([, json]) => {
  expect(tool(json as string)).toEqual({ kind: 'tool', name: 'pay', sha256: '', members: {} });
});

test('at most 64 members with short names have digests of their own', () => {
  const members = (count: number, name: (index: number) => string) =>
    Object.keys(
      tool(JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, i) => [name(i), i])))).members,
    );
  expect(members(65, (i) => `m${i}`)).toEqual(Array.from({ length: 64 }, (_, i) => `m${i}`));
  expect(members(2, (i) => 'x'.repeat(64 + i))).toEqual(['x'.repeat(64)]);
});

test('an entry without a name has no definition', () => {
  const entries: unknown[] = [{ name: 'pay' }, {}, { name: 1 }, 'pay', null, { name: '' }];
  expect(definitionsIn('prompt', entries)).toEqual([
    definitionOf('prompt', 'pay', { name: 'pay' }),
    undefined,
    undefined,
    undefined,
    undefined,
    definitionOf('prompt', '', { name: '' }),
  ]);
});

test('only the definition of a tool has schemas', () => {
  const entry = { name: 'pay', inputSchema: { type: 'object' }, outputSchema: { title: 'Receipt' } };
  const schemas = { input: entry.inputSchema, output: entry.outputSchema };
  expect(definitionsIn('tool', [entry])).toEqual([{ ...definitionOf('tool', 'pay', entry), schemas }]);
  expect(definitionsIn('prompt', [entry])[0]).not.toHaveProperty('schemas');
});

test('a tool and a prompt of one name have two keys', () => {
  expect(definitionKey({ kind: 'tool', name: 'pay' })).toBe('tool pay');
  expect(definitionKey({ kind: 'prompt', name: 'pay' })).toBe('prompt pay');
});
