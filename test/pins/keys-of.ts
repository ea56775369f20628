/** A JSON Schema, as far as it says what keys there are. */
export interface Schema {
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, Schema>>;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: boolean | Schema;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly required?: readonly string[];
}

/** Every key that a document may have, as a path; `*` for names of one's own, `[]` in lists, `!` where it must be there. */
export function keysOf(root: Schema, depth = Infinity): readonly string[] {
  const walk = (schema: Schema, path: string, left: number, seen: readonly string[]): readonly string[] => {
    const { $ref } = schema;
    if ($ref !== undefined) {
      const name = $ref.replace('#/$defs/', '');
      const target = root.$defs?.[name];
      if (target === undefined) throw new Error(`${$ref} is not defined`);
      return seen.includes(name) ? [] : walk(target, path, left, [...seen, name]);
    }
    if (left === 0) return [];
    const keys: string[] = [];
    for (const [key, value] of Object.entries(schema.properties ?? {})) {
      keys.push(`${path}${key}${schema.required?.includes(key) === true ? '!' : ''}`);
      keys.push(...walk(value, `${path}${key}.`, left - 1, seen));
    }
    const { additionalProperties: others, items, anyOf = [] } = schema;
    if (typeof others === 'object') keys.push(...walk(others, `${path}*.`, left, seen));
    if (items !== undefined) keys.push(...walk(items, `${path.slice(0, -1)}[].`, left, seen));
    return [...keys, ...anyOf.flatMap((each) => walk(each, path, left, seen))];
  };
  return [...new Set(walk(root, '', depth, []))];
}
