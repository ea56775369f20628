/**
 * The types of policies as they are written, made of their schema.
 *
 * @module
 */

/** The part of JSON Schema that types of policies are made of. */
export interface Schema {
  readonly title?: string;
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, Schema>>;
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  /** 1: each property is the only one of a mapping. */
  readonly maxProperties?: number;
  /** The properties that are the only one of a mapping. */
  readonly dependentSchemas?: object;
}

/** Names of definitions, where those of the schema are not the words of `src/core/policy`. */
const names: Readonly<Record<string, string>> = { policy: 'Condition', call: 'Entry' };

function nameOf(definition: string): string {
  return names[definition] ?? definition.replaceAll(/(?:^|_)(\w)/g, (_, first: string) => first.toUpperCase());
}

/** `PolicyDocument` of the schema itself, and a type of each definition that has properties. */
export function documentTypes(root: Schema): string {
  const definitions = Object.entries(root.$defs ?? {}).filter(([, { properties }]) => properties !== undefined);
  const all = [['policy document', root] as const, ...definitions];
  return all.map(([name, schema]) => declaration(schema === root ? 'Policy' : nameOf(name), schema, root)).join('');
}

/** A mapping that stands beside other types has a name of its own. */
function declaration(name: string, schema: Schema, root: Schema): string {
  const { alone, mapping } = mappingsOf(schema, root);
  const others = [...simpleTypes(schema, root), ...alone];
  if (others.length === 0) return `export interface ${name}Document ${mapping}\n`;
  if (mapping === undefined) return `export type ${name}Document = ${others.join(' | ')};\n`;
  const type = [...others, `${name}Mapping`].join(' | ');
  return `export interface ${name}Mapping ${mapping}\nexport type ${name}Document = ${type};\n`;
}

function typeOf(schema: Schema, root: Schema): string {
  const definition = schema.$ref?.replace('#/$defs/', '');
  const target = definition === undefined ? undefined : root.$defs?.[definition];
  if (target !== undefined && definition !== undefined)
    return target.properties === undefined ? typeOf(target, root) : `${nameOf(definition)}Document`;
  const { alone, mapping = [] } = mappingsOf(schema, root);
  return [...simpleTypes(schema, root), ...alone, mapping].flat().join(' | ');
}

function simpleTypes({ type = [], items = {}, ...schema }: Schema, root: Schema): readonly string[] {
  const words = schema.enum ?? ('const' in schema ? [schema.const] : undefined);
  if (words !== undefined) return words.map((word) => JSON.stringify(word));
  return [type].flat().flatMap((name) => {
    if (name === 'array') return `readonly (${typeOf(items, root)})[]`;
    return name === 'object' ? [] : name.replace('integer', 'number');
  });
}

interface Mappings {
  /** Those with one key. */
  readonly alone: readonly string[];
  /** That of all other keys. */
  readonly mapping: string | undefined;
}

function mappingsOf({ type = [], properties, required = [], ...schema }: Schema, root: Schema): Mappings {
  if (![type].flat().includes('object')) return { alone: [], mapping: undefined };
  if (properties === undefined) {
    const { additionalProperties: others = {} } = schema;
    return { alone: [], mapping: `Readonly<Record<string, ${typeOf(others as Schema, root)}>>` };
  }
  const single = Object.keys(schema.maxProperties === 1 ? properties : (schema.dependentSchemas ?? {}));
  const members = Object.entries(properties).filter(([key]) => !single.includes(key));
  const lines = members.map(([key, member]) => {
    return `  readonly ${key}${required.includes(key) ? '' : '?'}: ${typeOf(member, root)};\n`;
  });
  return {
    alone: single.map((key) => `{ readonly ${key}: ${typeOf(properties[key] ?? {}, root)} }`),
    mapping: lines.length === 0 ? undefined : `{\n${lines.join('')}}`,
  };
}
