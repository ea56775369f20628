/**
 * @module JSON Schema for the arguments of calls, as a lock approved it: 2020-12, or draft-07 where `$schema` says so.
 * A schema is checked and compiled once. A judgement has a budget of steps, so that neither a schema nor an argument
 * takes long, and says what no schema names: closed members.
 */

import { describeValue } from '../../core/lib/json/describe-value.ts';
import { isObject, type Members } from '../../core/lib/json/own-member.ts';
import { slowPart } from '../../policy-files/slow-pattern.ts';
import {
  canonicalForm,
  CHARACTERS,
  element,
  type Faults,
  holdsInPlace,
  inner,
  Judgement,
  MAX_FAULTS,
  MEMBERS,
  Named,
  Node,
  OutOfSteps,
  pointerTo,
  type Rule,
} from './judgement.ts';
import { type Dialect, type Resource, SchemaDocument, SchemaFault } from './schema-document.ts';

/** The longest schema, in bytes of its canonical form. */
const MAX_BYTES = 256 * 1024;
/** The longest way of schemas that apply at one place, by references and otherwise. */
const MAX_IN_PLACE = 256;
/** The steps of one judgement: a schema, some members or some characters each. They take about 5 ms at most. */
const MAX_STEPS = 20_000;
/** The most patterns of a schema, and what their examination may take in all: about 20 ms. */
const MAX_PATTERNS = 100;
const PATTERN_STEPS = 30_000;

/**
 * Judges values by one schema.
 *
 * @param isClosed Whether members that no schema names are faults.
 * @param steps The most steps; default: those of arguments.
 */
export type Judge = (value: unknown, isClosed: boolean, steps?: number) => Faults;

/** Compiles a schema. @throws {SchemaFault} */
export function compileSchema(schema: unknown): Judge {
  const bytes = bytesOf(schema);
  if (bytes > MAX_BYTES) throw new SchemaFault(`a schema of ${bytes} bytes, of at most ${MAX_BYTES}`);
  const root = new Compiler(schema).compile();
  return (value, isClosed, steps = MAX_STEPS) => {
    try {
      const judgement = new Judgement(steps);
      const named = judgement.judge(root, value, '', false);
      if (named !== undefined) return isClosed ? judgement.close(named, value) : [];
      // Only a value that is not valid needs pointers.
      const told = new Judgement(steps);
      told.judge(root, value, '', true);
      return told.faults;
    } catch (error) {
      // V8 throws a RangeError where a value nests deeper than its stack.
      if (!(error instanceof OutOfSteps || error instanceof RangeError)) throw error;
      return [{ pointer: '', keyword: 'budget' }];
    }
  };
}

/** The length of a schema in UTF-8. Its canonical form (RFC 8785) has the same length in another order. */
function bytesOf(schema: unknown): number {
  try {
    return Buffer.byteLength(JSON.stringify(schema));
  } catch {
    throw new SchemaFault('a schema that nests too deep');
  }
}

type Keyword = (compiler: Compiler, value: unknown, schema: Members, node: Node) => Rule;

/** Whether a pattern matches a text. */
type Matcher = (judgement: Judgement, text: string) => boolean;

/** Properties of Unicode have hundreds of ranges: such a test of a character takes long. */
const wideSet = /\\p/i;

class Compiler {
  readonly #document: SchemaDocument;
  readonly dialect: Dialect;
  readonly #nodes = new Map<unknown, Node>();
  /** The schemas that references lead to and that are not compiled yet. */
  readonly #pending: Members[] = [];
  readonly #patternSteps = { left: PATTERN_STEPS, tests: 0 };
  readonly #matchers = new Map<string, Matcher>();

  constructor(root: unknown) {
    this.#document = new SchemaDocument(root);
    this.dialect = this.#document.dialect;
  }

  compile(): Node {
    const root = this.node(this.#document.root);
    for (let next = this.#pending.pop(); next !== undefined; next = this.#pending.pop()) this.#compile(next);
    settle(this.#nodes.values());
    return root;
  }

  /** The compiled form of a schema within the whole one. */
  node(schema: unknown): Node {
    const node = this.#nodeOf(schema);
    if (isObject(schema)) this.#compile(schema);
    return node;
  }

  #nodeOf(schema: unknown): Node {
    // Objects are found by identity: a reference leads to the schema itself.
    const known = isObject(schema) ? this.#nodes.get(schema) : undefined;
    if (known !== undefined) return known;
    const node = new Node();
    if (typeof schema === 'boolean') this.#document.spend(1);
    if (schema === true) return node;
    if (schema === false) {
      node.isFalse = true;
      node.says = true;
      return node;
    }
    if (!isObject(schema)) throw new SchemaFault(`${describeValue(schema)} in place of a schema`);
    this.#nodes.set(schema, node);
    if (this.#document.hasDynamicAnchors) node.resource = this.#document.resourceOf(schema);
    return node;
  }

  #compile(schema: Members): void {
    const node = this.#nodes.get(schema);
    if (node === undefined || node.isCompiled) return;
    node.isCompiled = true;
    const rules: (readonly [string, Rule])[] = [];
    // Draft-07 §8.3: a reference stands alone.
    const isReference = this.dialect === 'draft-07' && Object.hasOwn(schema, '$ref');
    const own = Object.keys(schema).filter((keyword) => order.has(keyword));
    for (const keyword of own.toSorted((one, other) => (order.get(one) ?? 0) - (order.get(other) ?? 0))) {
      if ((isReference && keyword !== '$ref') || notIn[this.dialect].has(keyword)) continue;
      const rule = keywords[keyword]?.(this, schema[keyword], schema, node);
      if (rule !== undefined) rules.push([keyword, rule]);
    }
    node.rules = rules;
    node.says = rules.some(([keyword]) => !inPlaceKeywords.has(keyword));
  }

  /** A schema that applies at the same place. */
  inPlace(schema: unknown, node: Node): Node {
    const inner = this.node(schema);
    node.inPlace.push(inner);
    return inner;
  }

  /** What a reference leads to, which applies at the same place. It is compiled later: a way of them may be long. */
  reference(value: unknown, schema: Members, node: Node): Reference {
    const { schema: target, dynamicAnchor } = this.#document.target(value, schema);
    const first = this.#referenceTo(target, node);
    if (dynamicAnchor === undefined) return { first, others: noOthers };
    const resources = this.#document.withDynamicAnchor(dynamicAnchor);
    this.#document.spend(resources.length);
    const others = resources.map(
      (resource) => [resource, this.#referenceTo(resource.dynamicAnchors.get(dynamicAnchor), node)] as const,
    );
    return { first, others: new Map(others) };
  }

  #referenceTo(schema: unknown, node: Node): Node {
    const target = this.#nodeOf(schema);
    if (isObject(schema)) this.#pending.push(schema);
    node.inPlace.push(target);
    return target;
  }

  /** A value of the schema in one form, by which equal values are found. */
  formOf(value: unknown): string {
    return canonicalForm(value, (steps) => this.#document.spend(steps));
  }

  list(value: unknown, keyword: string): readonly unknown[] {
    if (!Array.isArray(value) || value.length === 0) throw new SchemaFault(`${keyword} is not a list of schemas`);
    return value as readonly unknown[];
  }

  map(value: unknown, keyword: string): readonly (readonly [string, unknown])[] {
    if (!isObject(value)) throw new SchemaFault(`${keyword} is not an object`);
    return Object.entries(value);
  }

  number(value: unknown, keyword: string): number {
    if (typeof value !== 'number') throw new SchemaFault(`${keyword} is not a number`);
    return value;
  }

  count(value: unknown, keyword: string): number {
    const count = this.number(value, keyword);
    if (!Number.isInteger(count) || count < 0) throw new SchemaFault(`${keyword} is not a count`);
    return count;
  }

  texts(value: unknown, keyword: string): readonly string[] {
    if (!Array.isArray(value) || !value.every((each) => typeof each === 'string'))
      throw new SchemaFault(`${keyword} is not a list of texts`);
    this.#document.spend(Math.ceil(value.length / MEMBERS));
    return value;
  }

  /** A pattern, which is compiled once wherever it stands. */
  pattern(value: unknown, keyword: string): Matcher {
    if (typeof value !== 'string') throw new SchemaFault(`${keyword} is not a text`);
    const known = this.#matchers.get(value);
    if (known !== undefined) return known;
    const matcher = this.#matcherOf(value, keyword);
    this.#matchers.set(value, matcher);
    return matcher;
  }

  #matcherOf(value: string, keyword: string): Matcher {
    let pattern: RegExp;
    try {
      pattern = new RegExp(value, 'u');
    } catch {
      throw new SchemaFault(`${keyword} ${describeValue(value)} is no regular expression`);
    }
    if (this.#matchers.size >= MAX_PATTERNS) throw new SchemaFault(`more than ${MAX_PATTERNS} patterns`);
    const slow = slowPart(value, this.#patternSteps);
    if (slow !== undefined) throw new SchemaFault(`${keyword} ${describeValue(value)}: ${slow.why}`);
    const tests = Math.ceil(this.#patternSteps.tests / 4) * (wideSet.test(value) ? CHARACTERS : 1);
    // V8 compiles a pattern at its first use, and again for texts beyond Latin-1.
    for (const text of ['', '\u0100']) pattern.test(text);
    return (judgement, text) => {
      judgement.spend(1 + Math.floor((text.length * tests) / CHARACTERS));
      return pattern.test(text);
    };
  }
}

/** What a reference leads to, and what it leads to instead if the dynamic scope has one of these resources. */
interface Reference {
  readonly first: Node;
  readonly others: ReadonlyMap<Resource, Node>;
}

const noOthers: ReadonlyMap<Resource, Node> = new Map();

/**
 * Settles what each schema says of a value, from the schemas that apply at the same place.
 *
 * @throws {SchemaFault} for schemas that lead to themselves at one place: such a judgement would not end.
 */
function settle(nodes: Iterable<Node>): void {
  const state = new Map<Node, 'open' | 'done'>();
  const visit = (node: Node, depth: number): void => {
    const known = state.get(node);
    if (known === 'open') throw new SchemaFault('a $ref that leads to itself without end');
    if (known === 'done') return;
    if (depth > MAX_IN_PLACE) throw new SchemaFault(`more than ${MAX_IN_PLACE} schemas, each at the place of the last`);
    state.set(node, 'open');
    for (const each of node.inPlace) {
      visit(each, depth + 1);
      node.says ||= each.says;
    }
    state.set(node, 'done');
  };
  for (const node of nodes) visit(node, 1);
}

/** Keywords whose schemas say what the schema around them says. */
const inPlaceKeywords: ReadonlySet<string> = new Set(['$ref', '$dynamicRef', 'allOf', 'anyOf', 'oneOf']);

/** Keywords that a dialect does not have. */
const notIn: Readonly<Record<Dialect, ReadonlySet<string>>> = {
  '2020-12': new Set(['additionalItems', 'dependencies']),
  'draft-07': new Set(
    'prefixItems dependentRequired dependentSchemas unevaluatedProperties unevaluatedItems minContains maxContains'
      .split(' ')
      .concat('$dynamicRef'),
  ),
};

const isNumber = (value: unknown): value is number => typeof value === 'number';

/** A rule on numbers. JSON.parse rounds larger ones, which are integers: no rule holds for them. */
function onNumbers(test: (value: number) => boolean): Rule {
  return (_judgement, value) => !isNumber(value) || (Math.abs(value) <= Number.MAX_SAFE_INTEGER && test(value));
}

function onTexts(test: (judgement: Judgement, value: string) => boolean): Rule {
  return (judgement, value) => typeof value !== 'string' || test(judgement, value);
}

function onLists(
  test: (judgement: Judgement, list: readonly unknown[], pointer: string, named: Named, isTold: boolean) => boolean,
): Rule {
  return (judgement, value, pointer, named, isTold) =>
    !Array.isArray(value) || test(judgement, value, pointer, named, isTold);
}

function onObjects(
  test: (judgement: Judgement, object: Members, pointer: string, named: Named, isTold: boolean) => boolean,
): Rule {
  return (judgement, value, pointer, named, isTold) =>
    !isObject(value) || test(judgement, value, pointer, named, isTold);
}

const isHighSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff;
const isLowSurrogate = (unit: number): boolean => unit >= 0xdc00 && unit <= 0xdfff;

/** The length of a text as JSON Schema counts it. */
function codePoints(judgement: Judgement, text: string): number {
  judgement.spend(1 + Math.floor(text.length / CHARACTERS));
  let pairs = 0;
  for (let at = 1; at < text.length; at += 1)
    if (isLowSurrogate(text.charCodeAt(at)) && isHighSurrogate(text.charCodeAt(at - 1))) pairs += 1;
  return text.length - pairs;
}

const types: Readonly<Record<string, (value: unknown) => boolean>> = {
  null: (value) => value === null,
  boolean: (value) => typeof value === 'boolean',
  object: isObject,
  array: Array.isArray,
  // JSON.parse makes Infinity of what no double can hold.
  number: (value) => Number.isFinite(value),
  integer: (value) => Number.isInteger(value),
  string: (value) => typeof value === 'string',
};

/** The rules of keywords, in the order in which they are judged. Those that see what others evaluated come last. */
const keywords: Readonly<Record<string, Keyword>> = {
  $ref(compiler, value, schema, node) {
    const { first } = compiler.reference(value, schema, node);
    return (judgement, instance, pointer, named, isTold) =>
      holdsInPlace(first, judgement, { value: instance, pointer, named, isTold });
  },
  $dynamicRef(compiler, value, schema, node) {
    const { first, others } = compiler.reference(value, schema, node);
    return (judgement, instance, pointer, named, isTold) =>
      holdsInPlace(judgement.outermost(others) ?? first, judgement, { value: instance, pointer, named, isTold });
  },
  type(_compiler, value) {
    const names = Array.isArray(value) ? (value as readonly unknown[]) : [value];
    const tests = [...new Set(names)].map((name) =>
      Object.hasOwn(types, String(name)) ? types[String(name)] : undefined,
    );
    if (tests.length === 0 || tests.includes(undefined)) throw new SchemaFault(`type ${describeValue(value)}`);
    return (_judgement, instance) => tests.some((test) => test?.(instance));
  },
  const(compiler, value) {
    return sameAs(compiler, [value]);
  },
  enum(compiler, value) {
    if (!Array.isArray(value)) throw new SchemaFault('enum is not a list');
    return sameAs(compiler, value);
  },
  multipleOf(compiler, value) {
    const divisor = compiler.number(value, 'multipleOf');
    if (!(divisor > 0)) throw new SchemaFault('multipleOf is not above 0');
    return onNumbers((number) => {
      const quotient = number / divisor;
      return Math.abs(Math.round(quotient) - quotient) <= 1e-12;
    });
  },
  maximum: bound('maximum', (number, most) => number <= most),
  exclusiveMaximum: bound('exclusiveMaximum', (number, most) => number < most),
  minimum: bound('minimum', (number, least) => number >= least),
  exclusiveMinimum: bound('exclusiveMinimum', (number, least) => number > least),
  maxLength(compiler, value) {
    const most = compiler.count(value, 'maxLength');
    return onTexts((judgement, text) => text.length <= most || codePoints(judgement, text) <= most);
  },
  minLength(compiler, value) {
    const least = compiler.count(value, 'minLength');
    return onTexts((judgement, text) => text.length >= least && codePoints(judgement, text) >= least);
  },
  pattern(compiler, value) {
    return onTexts(compiler.pattern(value, 'pattern'));
  },
  maxItems(compiler, value) {
    const most = compiler.count(value, 'maxItems');
    return onLists((_judgement, list) => list.length <= most);
  },
  minItems(compiler, value) {
    const least = compiler.count(value, 'minItems');
    return onLists((_judgement, list) => list.length >= least);
  },
  uniqueItems(_compiler, value) {
    if (value !== true) return () => true;
    return onLists((judgement, list) => {
      const forms = new Set<string>();
      for (const item of list) forms.add(judgement.formOf(item));
      return forms.size === list.length;
    });
  },
  prefixItems(compiler, value) {
    const nodes = compiler.list(value, 'prefixItems').map((each) => compiler.node(each));
    return onLists((judgement, list, pointer, named, isTold) =>
      prefix(nodes, judgement, { list, pointer, named, isTold }),
    );
  },
  items(compiler, value, { prefixItems = [], additionalItems }) {
    if (compiler.dialect === 'draft-07' && Array.isArray(value)) {
      const nodes = value.map((each) => compiler.node(each));
      const rest = additionalItems === undefined ? undefined : compiler.node(additionalItems);
      return onLists((judgement, list, pointer, named, isTold) => {
        const holds = prefix(nodes, judgement, { list, pointer, named, isTold });
        const others = rest === undefined || every(rest, nodes.length, judgement, { list, pointer, named, isTold });
        return holds && others;
      });
    }
    const node = compiler.node(value);
    const from = compiler.dialect === '2020-12' && Array.isArray(prefixItems) ? prefixItems.length : 0;
    return onLists((judgement, list, pointer, named, isTold) =>
      every(node, from, judgement, { list, pointer, named, isTold }),
    );
  },
  contains(compiler, value, { minContains = 1, maxContains = Infinity }) {
    const node = compiler.node(value);
    const isNew = compiler.dialect === '2020-12';
    const least = isNew ? compiler.count(minContains, 'minContains') : 1;
    const most = isNew && maxContains !== Infinity ? compiler.count(maxContains, 'maxContains') : Infinity;
    return onLists((judgement, list, pointer, named) => {
      let count = 0;
      for (const [index, item] of list.entries()) {
        const found = judgement.judge(node, item, pointer, false);
        if (found === undefined) continue;
        count += 1;
        named.element(index);
        if (typeof item === 'object' && item !== null) named.name(String(index), found);
      }
      return count >= least && count <= most;
    });
  },
  maxProperties(compiler, value) {
    const most = compiler.count(value, 'maxProperties');
    return onObjects((judgement, object) => judgement.keys(object).length <= most);
  },
  minProperties(compiler, value) {
    const least = compiler.count(value, 'minProperties');
    return onObjects((judgement, object) => judgement.keys(object).length >= least);
  },
  required(compiler, value) {
    const names = compiler.texts(value, 'required');
    return onObjects((judgement, object, pointer, _named, isTold) =>
      lacksNone(names, object, { judgement, pointer, isTold, keyword: 'required' }),
    );
  },
  dependentRequired(compiler, value) {
    const all = compiler
      .map(value, 'dependentRequired')
      .map(([key, names]) => [key, compiler.texts(names, 'dependentRequired')] as const);
    return requiredBeside(all, 'dependentRequired');
  },
  propertyNames(compiler, value) {
    const node = compiler.node(value);
    return onObjects((judgement, object, pointer, _named, isTold) =>
      judgement.keys(object).every((key) => {
        if (judgement.judge(node, key, pointer, false) !== undefined) return true;
        if (isTold) judgement.fault(pointerTo(pointer, key), 'propertyNames');
        return false;
      }),
    );
  },
  properties(compiler, value) {
    const nodes = compiler.map(value, 'properties').map(([key, each]) => [key, compiler.node(each)] as const);
    return onObjects((judgement, object, pointer, named, isTold) => {
      judgement.spendOn(nodes.length);
      let holds = true;
      for (const [key, node] of nodes) {
        if (!Object.hasOwn(object, key)) continue;
        if (inner(judgement, node, { value: object[key], pointer, key, named, isTold })) continue;
        if (!isTold) return false;
        holds = false;
      }
      return holds;
    });
  },
  patternProperties(compiler, value) {
    const nodes = compiler
      .map(value, 'patternProperties')
      .map(([source, each]) => [compiler.pattern(source, 'patternProperties'), compiler.node(each)] as const);
    return onObjects((judgement, object, pointer, named, isTold) => {
      let holds = true;
      for (const [matches, node] of nodes) {
        for (const key of judgement.keys(object)) {
          if (!matches(judgement, key)) continue;
          if (!inner(judgement, node, { value: object[key], pointer, key, named, isTold })) holds = false;
        }
      }
      return holds;
    });
  },
  additionalProperties(compiler, value, { properties = {}, patternProperties = {} }) {
    const node = compiler.node(value);
    const own = new Set(compiler.map(properties, 'properties').map(([key]) => key));
    const patterns = compiler
      .map(patternProperties, 'patternProperties')
      .map(([source]) => compiler.pattern(source, 'patternProperties'));
    const isKnown: IsKnown = (judgement, key) => own.has(key) || patterns.some((matches) => matches(judgement, key));
    return onOthers(node, 'additionalProperties', isKnown);
  },
  dependentSchemas(compiler, value, _schema, node) {
    return dependent(
      compiler.map(value, 'dependentSchemas').map(([key, each]) => [key, compiler.inPlace(each, node)] as const),
    );
  },
  dependencies(compiler, value, _schema, node) {
    const all = compiler.map(value, 'dependencies');
    const names = all.flatMap(([key, each]) =>
      Array.isArray(each) ? [[key, compiler.texts(each, 'dependencies')] as const] : [],
    );
    const schemas = dependent(
      all.flatMap(([key, each]) => (Array.isArray(each) ? [] : [[key, compiler.inPlace(each, node)] as const])),
    );
    const required = requiredBeside(names, 'dependencies');
    return (...about) => required(...about) && schemas(...about);
  },
  allOf(compiler, value, _schema, node) {
    return everyInPlace(compiler.list(value, 'allOf').map((each) => compiler.inPlace(each, node)));
  },
  anyOf: alternatives('anyOf', (holding) => holding > 0),
  oneOf: alternatives('oneOf', (holding) => holding === 1),
  not(compiler, value, _schema, node) {
    const excluded = compiler.inPlace(value, node);
    return (judgement, instance, pointer) => judgement.judge(excluded, instance, pointer, false) === undefined;
  },
  if(compiler, value, schema, node) {
    const condition = compiler.inPlace(value, node);
    const branch = (keyword: 'then' | 'else'): Node | undefined =>
      Object.hasOwn(schema, keyword) ? compiler.inPlace(schema[keyword], node) : undefined;
    const [then, otherwise] = [branch('then'), branch('else')];
    return (judgement, instance, pointer, named, isTold) => {
      const met = judgement.judge(condition, instance, pointer, false);
      if (met !== undefined) judgement.merge(named, met);
      const next = met === undefined ? otherwise : then;
      return next === undefined || holdsInPlace(next, judgement, { value: instance, pointer, named, isTold });
    };
  },
  unevaluatedProperties(compiler, value) {
    const isKnown: IsKnown = (_judgement, key, named) => named.names?.has(key) === true;
    return onOthers(compiler.node(value), 'unevaluatedProperties', isKnown);
  },
  unevaluatedItems(compiler, value) {
    const node = compiler.node(value);
    return onLists((judgement, list, pointer, named, isTold) => {
      let holds = true;
      for (const [index, item] of list.entries()) {
        if (index < named.items || named.others?.has(index) === true) continue;
        if (!element(judgement, node, item, { index, pointer, named, isTold })) holds = false;
      }
      if (holds) named.items = list.length;
      return holds;
    });
  },
};

const order: ReadonlyMap<string, number> = new Map(Object.keys(keywords).map((keyword, index) => [keyword, index]));

function bound(keyword: string, test: (number: number, bound: number) => boolean): Keyword {
  return (compiler, value) => {
    const limit = compiler.number(value, keyword);
    return onNumbers((number) => test(number, limit));
  };
}

/** Holds for values equal to one of these, and names all that is in them. */
function sameAs(compiler: Compiler, values: readonly unknown[]): Rule {
  const forms = new Set(values.map((each) => compiler.formOf(each)));
  const isOfScalars = values.every((each) => typeof each !== 'object' || each === null);
  return (judgement, value, _pointer, named) => {
    if (isOfScalars && typeof value === 'object' && value !== null) return false;
    if (!forms.has(judgement.formOf(value))) return false;
    named.isWhole = true;
    return true;
  };
}

/** Holds where all of these schemas hold, which say what they say at the same place. */
function everyInPlace(nodes: readonly Node[]): Rule {
  return (judgement, instance, pointer, named, isTold) => {
    let holds = true;
    for (const each of nodes) {
      if (holdsInPlace(each, judgement, { value: instance, pointer, named, isTold })) continue;
      if (!isTold) return false;
      holds = false;
    }
    return holds;
  };
}

/** Holds by the number of these schemas that hold. Those say what they say at the same place. */
function alternatives(keyword: string, isMet: (holding: number) => boolean): Keyword {
  return (compiler, value, _schema, node) => {
    const nodes = compiler.list(value, keyword).map((each) => compiler.inPlace(each, node));
    return (judgement, instance, pointer, named) => {
      const found = nodes
        .map((each) => judgement.judge(each, instance, pointer, false))
        .filter((each) => each !== undefined);
      for (const each of found) judgement.merge(named, each);
      return isMet(found.length);
    };
  };
}

/** Whether another keyword of the schema speaks of a member. */
type IsKnown = (judgement: Judgement, key: string, named: Named) => boolean;

/** A rule on the members that no other keyword speaks of. */
function onOthers(node: Node, keyword: string, isKnown: IsKnown): Rule {
  return onObjects((judgement, object, pointer, named, isTold) => {
    let holds = true;
    for (const key of judgement.keys(object)) {
      if (isKnown(judgement, key, named)) continue;
      if (node.isFalse) {
        if (isTold) judgement.fault(pointerTo(pointer, key), keyword);
        holds = false;
      } else if (!inner(judgement, node, { value: object[key], pointer, key, named, isTold })) holds = false;
    }
    return holds;
  });
}

interface ListContext {
  readonly list: readonly unknown[];
  readonly pointer: string;
  readonly named: Named;
  readonly isTold: boolean;
}

function prefix(nodes: readonly Node[], judgement: Judgement, { list, pointer, named, isTold }: ListContext): boolean {
  let holds = true;
  for (const [index, node] of nodes.entries()) {
    if (index >= list.length) break;
    if (!element(judgement, node, list[index], { index, pointer, named, isTold })) holds = false;
  }
  named.items = Math.max(named.items, Math.min(nodes.length, list.length));
  return holds;
}

function every(node: Node, from: number, judgement: Judgement, { list, pointer, named, isTold }: ListContext): boolean {
  let holds = true;
  for (let index = from; index < list.length; index += 1)
    if (!element(judgement, node, list[index], { index, pointer, named, isTold })) {
      holds = false;
      if (!isTold) break;
    }
  named.items = list.length;
  return holds;
}

interface LackContext {
  readonly judgement: Judgement;
  readonly pointer: string;
  readonly isTold: boolean;
  readonly keyword: string;
}

function lacksNone(
  names: readonly string[],
  object: Members,
  { judgement, pointer, isTold, keyword }: LackContext,
): boolean {
  judgement.spendOn(names.length);
  let lacks = false;
  for (const name of names) {
    if (Object.hasOwn(object, name)) continue;
    if (!isTold) return false;
    lacks = true;
    judgement.fault(pointerTo(pointer, name), keyword);
    if (judgement.faults.length >= MAX_FAULTS) break;
  }
  return !lacks;
}

/** A rule on the members that must stand beside others. */
function requiredBeside(all: readonly (readonly [string, readonly string[]])[], keyword: string): Rule {
  return onObjects((judgement, object, pointer, _named, isTold) => {
    judgement.spendOn(all.length);
    return all.every(
      ([key, names]) =>
        !Object.hasOwn(object, key) || lacksNone(names, object, { judgement, pointer, isTold, keyword }),
    );
  });
}

function dependent(nodes: readonly (readonly [string, Node])[]): Rule {
  return onObjects((judgement, object, pointer, named, isTold) => {
    judgement.spendOn(nodes.length);
    return nodes.every(([key, node]) => {
      return !Object.hasOwn(object, key) || holdsInPlace(node, judgement, { value: object, pointer, named, isTold });
    });
  });
}
