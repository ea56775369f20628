/**
 * @module A JSON Schema as a document: its dialect, the resources in it, and where its references lead. A reference
 * leads to another place of the same document or is refused: the gateway fetches no schema.
 */

import { describeValue } from '../../core/lib/json/describe-value.ts';
import { percentDecoded } from '../../core/lib/http/path-flaw.ts';
import { isObject, type Members } from '../../core/lib/json/own-member.ts';
import { keysOf } from '../../core/lib/json/pointer.ts';

/** How many schemas may be nested in each other. */
const MAX_DEPTH = 64;
/**
 * The steps of reading one schema: a schema, a reference, a value, or some characters each. They take at most about
 * 25 ms of processor time.
 */
const MAX_STEPS = 8_000;
/** How many characters of URIs, pointers and values are a step. */
const CHARACTERS = 64;
/** The longest `$id` and the longest reference to another resource, in characters. */
const MAX_URI = 1024;
/** The base of a document without an absolute `$id`, 2020-12 §9.1.1. */
const DEFAULT_BASE = 'schema:/';

/** A schema that is not used, and why. */
export class SchemaFault extends Error {
  override readonly name = 'SchemaFault';
}

export type Dialect = '2020-12' | 'draft-07';

const dialects: Readonly<Record<string, Dialect>> = {
  'https://json-schema.org/draft/2020-12/schema': '2020-12',
  'http://json-schema.org/draft-07/schema': 'draft-07',
};

/** A schema with its own base URI, and what its anchors name: 2020-12 §4.3.5, draft-07 §8.2. */
export interface Resource {
  /** Absolute, without a fragment. */
  readonly uri: string;
  readonly root: unknown;
  readonly anchors: ReadonlyMap<string, Members>;
  /** The anchors that `$dynamicRef` looks up in the dynamic scope. */
  readonly dynamicAnchors: ReadonlyMap<string, Members>;
}

interface OpenResource extends Resource {
  readonly anchors: Map<string, Members>;
  readonly dynamicAnchors: Map<string, Members>;
}

/** Where a reference leads. */
interface Target {
  readonly schema: unknown;
  /** The `$dynamicAnchor` that the reference named; undefined: it named anything else. */
  readonly dynamicAnchor: string | undefined;
}

/** Keywords with one schema, with a list of schemas, and with a schema for each name. `items` has either of two. */
const withOne = new Set(
  'additionalProperties additionalItems contains contentSchema else if items not propertyNames then'
    .split(' ')
    .concat('unevaluatedItems', 'unevaluatedProperties'),
);
const withList = new Set(['allOf', 'anyOf', 'items', 'oneOf', 'prefixItems']);
const withNames = new Set('$defs definitions dependencies dependentSchemas patternProperties properties'.split(' '));

const anchorForm = /^[A-Za-z_][-A-Za-z0-9._]*$/;

/** A schema with everything that its references lead to. */
export class SchemaDocument {
  readonly root: unknown;
  readonly dialect: Dialect;
  readonly #resources = new Map<string, OpenResource>();
  /** The resource of each object that is a schema. */
  readonly #resourceOf = new Map<Members, OpenResource>();
  #hasDynamicAnchors = false;
  #steps = 0;

  /** @throws {SchemaFault} */
  constructor(root: unknown) {
    this.root = root;
    const declared = isObject(root) ? root['$schema'] : undefined;
    const dialect = declared === undefined ? '2020-12' : dialectOf(declared);
    if (dialect === undefined) throw new SchemaFault(`$schema ${describeValue(declared)}, which is not known`);
    this.dialect = dialect;
    this.#identify(root, this.#open(DEFAULT_BASE, root), { depth: 1, isKnownPlace: true });
  }

  /** Whether any schema has a `$dynamicAnchor`. */
  get hasDynamicAnchors(): boolean {
    return this.#hasDynamicAnchors;
  }

  /** @throws {SchemaFault} once all that was read of the document takes too many steps. */
  spend(steps: number): void {
    this.#steps += steps;
    if (this.#steps > MAX_STEPS) throw new SchemaFault(`more than ${MAX_STEPS} steps to read it`);
  }

  /** Counts the characters of a part of the document. */
  spendOn(text: string): void {
    this.spend(1 + Math.floor(text.length / CHARACTERS));
  }

  /** Its resources that have a `$dynamicAnchor` of this name. */
  withDynamicAnchor(name: string): readonly Resource[] {
    return [...this.#resources.values()].filter(({ dynamicAnchors }) => dynamicAnchors.has(name));
  }

  /** The resource that a schema of the document belongs to. */
  resourceOf(schema: Members): Resource {
    return this.#openResourceOf(schema);
  }

  /**
   * The schema that a reference leads to, by the base URI of the schema that has it.
   *
   * @throws {SchemaFault} where it leads out of the document, or nowhere.
   */
  target(reference: unknown, from: Members): Target {
    if (typeof reference !== 'string') throw new SchemaFault('a reference that is no text');
    this.spendOn(reference);
    const [uri = '', ...rest] = reference.split('#');
    const nowhere = (): SchemaFault => new SchemaFault(`$ref ${describeValue(reference)}, which leads nowhere`);
    const fragment = percentDecoded(rest.join('#'));
    if (fragment === undefined) throw nowhere();
    const base = this.#openResourceOf(from);
    const resource = uri === '' ? base : this.#resources.get(this.#resolved(uri, base.uri, '$ref'));
    if (resource === undefined)
      throw new SchemaFault(`$ref ${describeValue(reference)}, which leads out of the schema`);
    if (fragment === '') return { schema: resource.root, dynamicAnchor: undefined };
    const isPointer = fragment.startsWith('/');
    const schema = isPointer ? this.#at(fragment, resource) : resource.anchors.get(fragment);
    if (schema === undefined) throw nowhere();
    const isDynamic = !isPointer && resource.dynamicAnchors.has(fragment);
    return { schema, dynamicAnchor: isDynamic ? fragment : undefined };
  }

  #at(pointer: string, from: OpenResource): unknown {
    let found: unknown = from.root;
    let resource = from;
    for (const key of keysOf(pointer) ?? []) {
      if (typeof found !== 'object' || found === null || !Object.hasOwn(found, key)) return undefined;
      found = Reflect.get(found, key) as unknown;
      resource = (isObject(found) && this.#resourceOf.get(found)) || resource;
    }
    // No keyword says that it is a schema: only the reference does.
    this.#identify(found, resource, { depth: 1, isKnownPlace: false });
    return found;
  }

  #openResourceOf(schema: Members): OpenResource {
    const resource = this.#resourceOf.get(schema);
    if (resource === undefined) throw new TypeError('a schema at a place where no keyword has schemas');
    return resource;
  }

  #open(uri: string, root: unknown): OpenResource {
    if (this.#resources.has(uri)) throw new SchemaFault(`$id ${describeValue(uri)} twice`);
    const resource: OpenResource = { uri, root, anchors: new Map(), dynamicAnchors: new Map() };
    this.#resources.set(uri, resource);
    return resource;
  }

  /** Finds the resource of a schema and of those within it. */
  #identify(
    schema: unknown,
    parent: OpenResource,
    { depth, isKnownPlace }: { readonly depth: number; readonly isKnownPlace: boolean },
  ): void {
    if (!isObject(schema) || this.#resourceOf.has(schema)) return;
    this.spend(1);
    if (depth > MAX_DEPTH) throw new SchemaFault(`more than ${MAX_DEPTH} nested schemas`);
    const declared = schema['$schema'];
    if (declared !== undefined && dialectOf(declared) !== this.dialect)
      throw new SchemaFault(`$schema ${describeValue(declared)} within a schema of another dialect`);
    const resource = this.#identified(schema, parent, isKnownPlace);
    this.#resourceOf.set(schema, resource);
    const context = { depth: depth + 1, isKnownPlace };
    for (const [keyword, value] of Object.entries(schema)) {
      if (Array.isArray(value)) {
        if (withList.has(keyword)) for (const each of value as unknown[]) this.#identify(each, resource, context);
      } else if (withOne.has(keyword)) this.#identify(value, resource, context);
      else if (withNames.has(keyword) && isObject(value))
        for (const each of Object.values(value)) this.#identify(each, resource, context);
    }
  }

  /** The resource of a schema, by its identifiers. */
  #identified(schema: Members, parent: OpenResource, isKnownPlace: boolean): OpenResource {
    // Draft-07 §8.3: all other members beside a reference are ignored.
    if (this.dialect === 'draft-07' && Object.hasOwn(schema, '$ref')) return parent;
    const { $id: id, $anchor: anchor, $dynamicAnchor: dynamicAnchor } = schema;
    const hasAnchors = this.dialect === '2020-12' && (anchor !== undefined || dynamicAnchor !== undefined);
    if (!isKnownPlace && (id !== undefined || hasAnchors))
      throw new SchemaFault('an identifier at a place where no keyword has schemas');
    const resource = this.#identifiedById(id, schema, parent);
    if (!hasAnchors) return resource;
    if (anchor !== undefined) name(resource.anchors, anchor, schema);
    if (dynamicAnchor === undefined) return resource;
    name(resource.anchors, dynamicAnchor, schema);
    name(resource.dynamicAnchors, dynamicAnchor, schema);
    this.#hasDynamicAnchors = true;
    return resource;
  }

  #identifiedById(id: unknown, schema: Members, parent: OpenResource): OpenResource {
    if (id === undefined) return parent;
    if (typeof id !== 'string') throw new SchemaFault('an $id that is no text');
    const [uri = '', fragment = ''] = id.split('#', 2);
    if (fragment !== '') {
      // Draft-07 §8.2.3: such an `$id` names a place within the resource.
      if (this.dialect !== 'draft-07' || uri !== '') throw new SchemaFault(`$id ${describeValue(id)} has a fragment`);
      name(parent.anchors, fragment, schema);
      return parent;
    }
    const absolute = this.#resolved(uri, parent.uri, '$id');
    const isRootAgain = schema === this.root && absolute === parent.uri;
    return isRootAgain ? parent : this.#open(absolute, schema);
  }

  /** A URI reference as an absolute URI without fragment, RFC 3986 §5. */
  #resolved(reference: string, base: string, keyword: string): string {
    if (reference.length > MAX_URI) throw new SchemaFault(`${keyword} of more than ${MAX_URI} characters`);
    this.spendOn(base);
    try {
      return new URL(reference, base).href;
    } catch {
      throw new SchemaFault(`${keyword} ${describeValue(reference)} is no URI`);
    }
  }
}

function dialectOf(declared: unknown): Dialect | undefined {
  const uri = typeof declared === 'string' ? declared.replace(/#$/, '') : '';
  return Object.hasOwn(dialects, uri) ? dialects[uri] : undefined;
}

function name(anchors: Map<string, Members>, anchor: unknown, schema: Members): void {
  if (typeof anchor !== 'string' || !anchorForm.test(anchor))
    throw new SchemaFault(`anchor ${describeValue(anchor)} is no name`);
  if (anchors.has(anchor) && anchors.get(anchor) !== schema)
    throw new SchemaFault(`anchor ${describeValue(anchor)} twice`);
  anchors.set(anchor, schema);
}
