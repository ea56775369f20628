import type { CompletionContext, CompletionResult } from '@codemirror/autocomplete';
import schema from '../../schema/policy.schema.json' with { type: 'json' };

/** The parts of a JSON Schema that completion reads. */
interface Schema {
  readonly $ref?: string;
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
}

const root = schema as unknown as Schema;
const definitions = schema.$defs as unknown as Readonly<Record<string, Schema>>;

/** Completes the keys and the fixed values of a policy at the cursor, from the schema of policies. */
export function completePolicy({ state, pos, explicit }: CompletionContext): CompletionResult | null {
  const line = state.doc.lineAt(pos);
  const before = line.text.slice(0, pos - line.from);
  const word = /[\w]*$/.exec(before)?.[0] ?? '';
  if (word === '' && !explicit) return null;
  const above = Array.from({ length: line.number - 1 }, (_, index) => state.doc.line(index + 1).text);
  const from = pos - word.length;
  const value = /^\s*(?:- )?(\w+):\s*\w*$/.exec(before);
  if (value !== null) {
    const values = schemaAt([...pathAbove(above, before), value[1] ?? ''])?.enum ?? [];
    return { from, options: values.map((each) => ({ label: String(each), type: 'enum' })) };
  }
  if (!/(?:^|[{,]|- )\s*\w*$/.test(before)) return null;
  const found = schemaAt([...pathAbove(above, before), ...flowPath(before)]);
  const options = Object.entries(found?.properties ?? {}).map(([label, { description, $ref }]) => ({
    label,
    type: 'property',
    info: description ?? named($ref)?.description ?? '',
    apply: `${label}: `,
  }));
  return options.length === 0 ? null : { from, options };
}

/** The keys of the mappings around a line, by their indentation. */
function pathAbove(above: readonly string[], before: string): readonly string[] {
  let indent = /^[\s-]*/.exec(before)?.[0].length ?? 0;
  const path: string[] = [];
  for (const text of above.toReversed()) {
    const [, space = '', key] =
      /^([\s-]*)(?:"([^"]*)"|'([^']*)'|([^\s#'"][^:]*)):\s*(?:#.*)?$/
        .exec(text)
        ?.filter((each) => each !== undefined) ?? [];
    if (key === undefined || space.length >= indent) continue;
    path.unshift(key);
    indent = space.length;
  }
  return path;
}

/** The keys before the braces that are open at the end of a line. */
function flowPath(before: string): readonly string[] {
  const path: string[] = [];
  for (const [, key, brace] of before.matchAll(/(?:([\w/.*"-]+):\s*)?([{}])/g)) {
    if (brace === '{') path.push(key ?? '');
    else path.pop();
  }
  return path.filter((key) => key !== '');
}

function schemaAt(path: readonly string[]): Schema | undefined {
  let at: Schema | undefined = root;
  for (const key of path) {
    const inner: Schema | undefined = resolved(at?.items) ?? at;
    const other = inner?.additionalProperties;
    at = resolved(inner?.properties?.[key] ?? (typeof other === 'object' ? other : undefined));
  }
  return resolved(at?.items)?.properties === undefined ? at : resolved(at?.items);
}

function resolved(found: Schema | undefined): Schema | undefined {
  return found?.$ref === undefined ? found : named(found.$ref);
}

function named(reference: string | undefined): Schema | undefined {
  return reference === undefined ? undefined : definitions[reference.replace('#/$defs/', '')];
}
