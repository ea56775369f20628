// oxlint-disable unicorn/no-thenable -- a schema has it
import { describe, expect, test } from 'vitest';
import { compileSchema, type Judge } from '../../../src/capabilities/lock/json-schema.ts';
import { SchemaFault } from '../../../src/capabilities/lock/schema-document.ts';
import suite from '../../fixtures/json-schema/suite.json' with { type: 'json' };

/** The required tests of https://github.com/json-schema-org/JSON-Schema-Test-Suite. */
const published = suite as unknown as Readonly<
  Record<
    string,
    Readonly<Record<string, readonly (readonly [string, unknown, readonly (readonly [unknown, boolean])[]])[]>>
  >
>;
const dialects: Readonly<Record<string, string>> = {
  '2020-12': 'https://json-schema.org/draft/2020-12/schema',
  'draft-07': 'http://json-schema.org/draft-07/schema#',
};

function faultOf(schema: unknown): string {
  try {
    compileSchema(schema);
    return '';
  } catch (error) {
    if (error instanceof SchemaFault) return error.message;
    throw error;
  }
}

/** A schema of the suite, which says its dialect. */
function saysDialect(schema: unknown, dialect: string): unknown {
  return typeof schema === 'object' ? { $schema: dialects[dialect], ...schema } : schema;
}

describe.each(Object.keys(dialects))('the published suite of %s', (dialect) => {
  test.each(Object.entries(published[dialect] ?? {}))('%s: as the suite says', (_keyword, groups) => {
    for (const [description, schema, tests] of groups) {
      const whole = saysDialect(schema, dialect);
      // What it does not support is refused: the tool cannot be called. The next test counts these.
      if (faultOf(whole) !== '') continue;
      const judge = compileSchema(whole);
      for (const [value, valid] of tests) {
        const verdict = judge(value, false).length === 0;
        expect({ description, value, verdict }).toEqual({ description, value, verdict: valid });
      }
    }
  });
});

test.each([
  ['2020-12', { used: 358, 'leads out': 22, 'another dialect': 2, 'slow pattern': 1 }],
  ['draft-07', { used: 243, 'leads out': 13, 'another dialect': 0, 'slow pattern': 1 }],
])('of %s, only schemas with other documents or dialects, and one slow pattern, are refused', (dialect, expected) => {
  const counts: Record<string, number> = { used: 0, 'leads out': 0, 'another dialect': 0, 'slow pattern': 0 };
  const kinds = [
    [/^$/, 'used'],
    [/^\$ref .* leads out of the schema$/, 'leads out'],
    [/^\$schema .* not known$/, 'another dialect'],
    [/^patternProperties "f\.\*o": is tried anew/, 'slow pattern'],
  ] as const;
  for (const [, schema] of Object.values(published[dialect] ?? {}).flat()) {
    const fault = faultOf(saysDialect(schema, dialect));
    const kind = kinds.find(([form]) => form.test(fault))?.[1] ?? fault;
    counts[kind] = (counts[kind] ?? 0) + 1;
  }
  expect(counts).toEqual(expected);
});

const faultsIn = (schema: unknown, value: unknown): readonly string[] =>
  compileSchema(schema)(value, true).map(({ pointer, keyword }) => `${pointer} ${keyword}`);

const unknownX = ['/x unevaluatedProperties'];
const object = { type: 'object' } as const;

describe('members that no schema names are refused', () => {
  test.each<[string, unknown, unknown, readonly string[]]>([
    ['beside properties', { ...object, properties: { a: {} } }, { a: 1, x: 1 }, unknownX],
    ['of an object without names', object, { x: 1 }, unknownX],
    ['but none where nothing is said', {}, { x: { y: 1 } }, []],
    ['nor under a member of which nothing is said', { properties: { a: true } }, { a: { y: 1 } }, []],
    [
      'nor where annotations alone stand',
      { properties: { a: { description: 'any', default: 1 } } },
      { a: { y: 1 } },
      [],
    ],
    [
      'at every depth',
      { properties: { a: { properties: { b: {} } } } },
      { a: { b: 1, x: 1 } },
      ['/a/x unevaluatedProperties'],
    ],
    [
      'in lists',
      { properties: { a: { items: { properties: { b: {} } } } } },
      { a: [{ b: 1 }, { x: 1 }] },
      ['/a/1/x unevaluatedProperties'],
    ],
    ['across allOf', { allOf: [{ properties: { a: {} } }, { properties: { b: {} } }] }, { a: 1, b: 1 }, []],
    [
      'across allOf, deeper',
      { allOf: [{ properties: { a: { properties: { b: {} } } } }, { properties: { a: { properties: { c: {} } } } }] },
      { a: { b: 1, c: 1 } },
      [],
    ],
    [
      'but for the branch that holds',
      {
        anyOf: [
          { required: ['a'], properties: { a: {} } },
          { required: ['b'], properties: { b: {} } },
        ],
      },
      { a: 1, b: 1 },
      [],
    ],
    [
      'of a branch that does not hold',
      {
        oneOf: [
          { required: ['a'], properties: { a: {} } },
          { required: ['b'], properties: { b: {} } },
        ],
      },
      { a: 1, x: 1 },
      unknownX,
    ],
    ['although `required` names them', { ...object, required: ['x'] }, { x: 1 }, unknownX],
    ['although `propertyNames` does', { ...object, propertyNames: { pattern: '^x$' } }, { x: 1 }, unknownX],
    ['not under additionalProperties', { ...object, additionalProperties: true }, { x: { y: 1 } }, []],
    [
      'not under a schema of additionalProperties',
      { ...object, additionalProperties: { type: 'number' } },
      { x: 1 },
      [],
    ],
    ['not under patternProperties', { ...object, patternProperties: { '^x': {} } }, { x: 1 }, []],
    ['not in `const`', { const: { a: { b: 1 } } }, { a: { b: 1 } }, []],
    ['not in `enum`', { properties: { a: { enum: [{ b: 1 }] } } }, { a: { b: 1 } }, []],
    ['through a reference', { $ref: '#/$defs/a', $defs: { a: { properties: { a: {} } } } }, { a: 1, x: 1 }, unknownX],
    ['and `not` does not name', { ...object, not: { required: ['y'], properties: { x: {} } } }, { x: 1 }, unknownX],
    ['and `then` names', { ...object, if: { required: ['a'] }, then: { properties: { a: {} } } }, { a: 1 }, []],
  ])('%s', (_name, schema, value, expected) => {
    expect(faultsIn(schema, value)).toEqual(expected);
  });

  test('and the rest is JSON Schema alone', () => {
    expect(compileSchema(object)({ x: 1 }, false)).toEqual([]);
  });
});

describe('faults', () => {
  test('name the missing member and the keyword, at most five, and no values', () => {
    const properties = { a: { type: 'integer' }, b: { maxLength: 2 }, c: { enum: ['x'] }, d: { minimum: 1 }, e: false };
    const schema = { type: 'object', properties, required: ['f', 'g'] };
    expect(faultsIn(schema, { a: 'secret', b: 'long', c: 'y', d: 0, e: 1 })).toEqual([
      '/f required',
      '/g required',
      '/a type',
      '/b maxLength',
      '/c enum',
    ]);
  });

  test('a pointer is cut at 128 characters', () => {
    expect(compileSchema(object)({ ['x'.repeat(300)]: 1 }, true)[0]?.pointer).toHaveLength(128);
    const cut = compileSchema(object)({ ['\u{1f600}'.repeat(300)]: 1 }, true)[0]?.pointer ?? '';
    expect([cut.length, cut.isWellFormed()]).toEqual([128, true]);
  });

  test.each([
    [{ maximum: 1e300 }, 2 ** 53 + 2],
    [{ minimum: 0 }, 2 ** 60],
    [{ multipleOf: 2 }, 2 ** 60],
    [{ minimum: 0 }, Infinity],
  ])('an integer beyond 2^53 fails every numeric keyword: %j', (schema, value) => {
    expect(compileSchema(schema)(value, false)).toHaveLength(1);
  });

  test('a number that no double can hold has no type, also where a list of types allows numbers', () => {
    for (const type of ['number', 'integer', ['number', 'string']])
      expect(compileSchema({ type })(JSON.parse('1e400'), false)).toHaveLength(1);
    expect(compileSchema({ type: 'number' })(1e308, false)).toEqual([]);
  });

  test('multipleOf counts to twelve places', () => {
    expect(compileSchema({ multipleOf: 0.01 })(0.07, false)).toEqual([]);
    expect(compileSchema({ multipleOf: 0.01 })(0.075, false)).toHaveLength(1);
  });
});

/** An object with as many members. */
function ofMembers(count: number, value: unknown = 1): object {
  return Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, value]));
}

describe('references', () => {
  test.each<[string, unknown, unknown, readonly string[]]>([
    [
      'to an embedded schema, by its absolute $id',
      {
        $ref: 'https://a.example/b',
        $defs: {
          b: { $id: 'https://a.example/b', properties: { c: { $ref: '#/$defs/c' } }, $defs: { c: { type: 'number' } } },
        },
      },
      { c: 'x', d: 1 },
      ['/c type'],
    ],
    [
      'by an anchor close what they lead to',
      { properties: { a: { $ref: '#a' } }, $defs: { b: { $anchor: 'a', properties: { b: {} } } } },
      { a: { b: 1, x: 1 } },
      ['/a/x unevaluatedProperties'],
    ],
    [
      'to a $dynamicAnchor take that of the outermost resource',
      {
        $id: 'strict',
        $dynamicAnchor: 'node',
        $ref: 'tree',
        $defs: {
          tree: { $id: 'tree', $dynamicAnchor: 'node', properties: { of: { items: { $dynamicRef: '#node' } } } },
        },
        required: ['of'],
      },
      { of: [{ of: [], x: 1 }, {}] },
      ['/of/1/of required'],
    ],
  ])('%s', (_name, schema, value, expected) => {
    expect(faultsIn(schema, value)).toEqual(expected);
  });

  test('a way of references may be longer than schemas may nest', () => {
    const $defs: Record<string, object> = { t100: { type: 'number' } };
    for (let at = 0; at < 100; at += 1) $defs[`t${at}`] = { properties: { next: { $ref: `#/$defs/t${at + 1}` } } };
    expect(faultsIn({ $ref: '#/$defs/t0', $defs }, { next: { next: { x: 1 } } })).toEqual([
      '/next/next/x unevaluatedProperties',
    ]);
  });

  test('members are closed in whatever order the schemas stand', () => {
    const list = { required: ['a'], properties: { a: { $ref: '#/$defs/maybe' } } };
    const $defs = { list, maybe: { anyOf: [{ $ref: '#/$defs/list' }, {}] } };
    for (const properties of [
      { x: { $ref: '#/$defs/maybe' } },
      { first: { $ref: '#/$defs/list' }, x: { $ref: '#/$defs/maybe' } },
    ])
      expect(faultsIn({ $defs, properties }, { x: { y: 1 } })).toEqual(['/x/y unevaluatedProperties']);
  });
});

describe('a schema is not used', () => {
  const deep = (levels: number): object => (levels === 0 ? {} : { items: deep(levels - 1) });
  test.each<[string, unknown, RegExp]>([
    ['of another dialect', { $schema: 'http://json-schema.org/draft-04/schema#' }, /\$schema/],
    ['that leads out', { $ref: 'https://example.com/x' }, /leads out/],
    ['that leads nowhere', { $ref: '#/$defs/x' }, /leads nowhere/],
    ['that leads to another document on the same server', { $id: 'https://a.example/b', $ref: 'c' }, /leads out/],
    ['that leads out dynamically', { $dynamicRef: 'https://a.example/b#c' }, /leads out/],
    ['with an anchor that there is not', { $ref: '#a' }, /leads nowhere/],
    ['with a reference that is no URI', { $ref: 'http://[' }, /is no URI/],
    ['with an $id twice', { $defs: { a: { $id: 'a' }, b: { $id: './a' } } }, /\$id .* twice/],
    ['with an anchor twice', { $defs: { a: { $anchor: 'a' }, b: { $dynamicAnchor: 'a' } } }, /anchor "a" twice/],
    ['with an $id with a fragment', { $id: 'https://a.example/b#c' }, /has a fragment/],
    ['with a long $id', { $id: 'a'.repeat(1025) }, /1024 characters/],
    [
      'with a schema of another dialect in it',
      { properties: { a: { $id: 'a', $schema: 'http://json-schema.org/draft-07/schema#' } } },
      /another dialect/,
    ],
    [
      'with an identifier where only a reference says that a schema stands',
      { $ref: '#/x', x: { $id: 'https://a.example/b' } },
      /no keyword/,
    ],
    ['that leads to itself', { $ref: '#' }, /without end/],
    [
      'with a long way of references at one place',
      {
        $ref: '#/$defs/a0',
        $defs: Object.fromEntries(
          Array.from({ length: 300 }, (_, at) => [`a${at}`, at === 299 ? {} : { $ref: `#/$defs/a${at + 1}` }]),
        ),
      },
      /more than 256 schemas/,
    ],
    ['that leads to itself dynamically', { $dynamicAnchor: 'a', allOf: [{ $dynamicRef: '#a' }] }, /without end/],
    [
      'that leads to itself by others',
      { allOf: [{ $ref: '#/$defs/a' }], $defs: { a: { anyOf: [{ $ref: '#' }] } } },
      /without end/,
    ],
    ['with a slow pattern', { pattern: '^(a+)+$' }, /pattern/],
    ['with a slow name', { patternProperties: { '^(a|a)*$': {} } }, /patternProperties/],
    ['with no pattern', { pattern: '(' }, /no regular expression/],
    ['of more than 64 levels', deep(70), /64 nested/],
    ['with too many schemas', { allOf: Array.from({ length: 8_000 }, () => ({})) }, /8000 steps/],
    ['with too many schemas that are true', { anyOf: Array.from({ length: 8_000 }, () => true) }, /8000 steps/],
    ['with too many values', { enum: Array.from({ length: 8_000 }, (_, at) => at) }, /8000 steps/],
    [
      'with too many ways of a $dynamicRef',
      {
        allOf: Array.from({ length: 200 }, (_, at) => ({
          $id: String(at),
          $dynamicAnchor: 'a',
          items: { $dynamicRef: '#a' },
        })),
      },
      /8000 steps/,
    ],
    [
      'with too long ways of references',
      {
        $id: `http://a.example/${'b/'.repeat(480)}`,
        $defs: { a: { $id: 'x' } },
        allOf: Array.from({ length: 1_000 }, () => ({ $ref: 'x' })),
      },
      /8000 steps/,
    ],
    [
      'with wide patterns',
      { allOf: Array.from({ length: 99 }, (_, at) => ({ pattern: `^\\p{L}{1,60}${at}$` })) },
      /too many/,
    ],
    ['of more than 256 KiB', { description: 'x'.repeat(300_000) }, /of at most 262144/],
    ['with a type that there is not', { type: 'text' }, /type/],
    ['that is no schema', { properties: { a: 1 } }, /in place of a schema/],
  ])('%s', (_name, schema, message) => {
    expect(faultOf(schema)).toMatch(message);
  });

  test('and one that leads back by members is', () => {
    const judge: Judge = compileSchema({ type: 'object', properties: { next: { $ref: '#' } } });
    expect(judge({ next: { next: {} } }, true)).toEqual([]);
    expect(judge({ next: { next: { x: 1 } } }, true)).toHaveLength(1);
  });
});

test('a value that nests deeper than the stack is refused', () => {
  const text = `${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`;
  const judge = compileSchema({ type: 'object', properties: { a: { anyOf: [{ $ref: '#' }, { type: 'number' }] } } });
  expect(judge(JSON.parse(text), true)).not.toEqual([]);
});

test('a pattern that stands twice is one', () => {
  const properties = Object.fromEntries(
    Array.from({ length: 60 }, (_, at) => [`^a${at}`, { pattern: `^b${at % 30}$` }]),
  );
  const schema = { patternProperties: properties, additionalProperties: false };
  expect(faultsIn(schema, { a7: 'b7' })).toEqual([]);
  expect(faultsIn(schema, { a7: 'b8' })).toEqual(['/a7 pattern']);
});

test.each<[string, unknown, unknown]>([
  ['members of an object', { allOf: Array.from({ length: 60 }, () => ({ maxProperties: 9_999 })) }, ofMembers(9_000)],
  ['names of a schema', { items: { properties: ofMembers(3_000, {}) } }, Array.from({ length: 1_000 }, () => ({}))],
  [
    'required names',
    { items: { required: Object.keys(ofMembers(3_000)) } },
    Array.from({ length: 40 }, () => ofMembers(3_000)),
  ],
  [
    'what schemas at one place name',
    { allOf: [{ additionalProperties: {} }, ...Array.from({ length: 60 }, () => ({ additionalProperties: {} }))] },
    ofMembers(2_000),
  ],
  ['equal values', { uniqueItems: true }, [['x'.repeat(700_000)]]],
  ['characters beyond Latin', { pattern: '^\\p{L}*\\p{N}$' }, 'a'.repeat(20_000)],
])('a judgement counts %s', (_name, schema, value) => {
  expect(compileSchema(schema)(value, true)).toEqual([{ pointer: '', keyword: 'budget' }]);
});

test('a message as large as may be is judged: 1,000 objects of nine members', () => {
  const properties = Object.fromEntries(Array.from({ length: 9 }, (_, at) => [`m${at}`, { type: 'number' }]));
  const schema = { type: 'object', properties: { list: { type: 'array', items: { type: 'object', properties } } } };
  const list = Array.from({ length: 1_000 }, () => Object.fromEntries(Object.keys(properties).map((key) => [key, 1])));
  expect(compileSchema(schema)({ list }, true)).toEqual([]);
});

test('a judgement ends by its budget, whatever schema and value are', () => {
  const doubling = { $defs: { a0: { type: 'object' } } as Record<string, object>, $ref: '#/$defs/a20' };
  for (let level = 1; level <= 20; level += 1) {
    const reference = { $ref: `#/$defs/a${level - 1}` };
    doubling.$defs[`a${level}`] = { allOf: [reference, reference] };
  }
  expect(compileSchema(doubling)({}, true)).toEqual([{ pointer: '', keyword: 'budget' }]);
  const long = Array.from({ length: 60_000 }, () => 1);
  expect(compileSchema({ items: { type: 'number' } })(long, true)).toEqual([{ pointer: '', keyword: 'budget' }]);
});
