/** Numbers keep their digits: JavaScript cannot hold 9007199254740993 or 1e400. */
interface WithSource {
  readonly source?: string;
}

/** From the proposal "JSON.parse source text access", which V8 has and TypeScript does not know yet. */
const { rawJSON } = JSON as unknown as { readonly rawJSON: (text: string) => object };

/**
 * Finds every number, and text in strings that looks like one after a colon or comma. It looks for a digit first: to
 * look back from each of many spaces would take quadratic time, once V8 has compiled the pattern.
 */
const perhapsNumber = /(?=[-0-9])(?<=(?:^|[[:,])\s*)-?[0-9][0-9.eE+-]*/g;

/**
 * JSON.parse for a value that JSON.stringify will write again: a number that JavaScript would change becomes an object,
 * which is written with the digits that were read.
 */
export function parseToRewrite(text: string): unknown {
  // A reviver costs several times as much as parsing, and few texts have such a number.
  if (!mayChangeNumbers(text)) return JSON.parse(text);
  return JSON.parse(text, function keep(this: unknown, _key: string, value: unknown, context?: WithSource): unknown {
    if (typeof value !== 'number' || context?.source === undefined) return value;
    return String(value) === context.source ? value : rawJSON(context.source);
  } as (key: string, value: unknown) => unknown);
}

function mayChangeNumbers(text: string): boolean {
  perhapsNumber.lastIndex = 0;
  for (let found = perhapsNumber.exec(text); found !== null; found = perhapsNumber.exec(text)) {
    if (String(Number(found[0])) !== found[0]) return true;
  }
  return false;
}
