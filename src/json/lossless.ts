/** Numbers keep their digits on the way through us: 9007199254740993 and 1e400 are no JavaScript numbers. */
interface WithSource {
  readonly source?: string;
}

/** V8's, of the proposal "JSON.parse source text access"; TypeScript does not know it yet. */
const { rawJSON } = JSON as unknown as { readonly rawJSON: (text: string) => object };

/** Whatever may be a number, and more: what stands in a string after a colon or comma may look like one. */
const perhapsNumber = /(?:^|[[:,])\s*(-?[0-9][0-9.eE+-]*)/g;

/**
 * JSON.parse for a value that is to be written again by JSON.stringify: a number that JavaScript would change becomes an
 * object that is written as it was read.
 */
export function parseToRewrite(text: string): unknown {
  // To be called for each value costs several times what parsing does, and few texts have such a number.
  if (!mayChangeNumbers(text)) return JSON.parse(text);
  return JSON.parse(text, function keep(this: unknown, _key: string, value: unknown, context?: WithSource): unknown {
    if (typeof value !== 'number' || context?.source === undefined) return value;
    return String(value) === context.source ? value : rawJSON(context.source);
  } as (key: string, value: unknown) => unknown);
}

function mayChangeNumbers(text: string): boolean {
  perhapsNumber.lastIndex = 0;
  for (let found = perhapsNumber.exec(text); found !== null; found = perhapsNumber.exec(text)) {
    if (String(Number(found[1])) !== found[1]) return true;
  }
  return false;
}
