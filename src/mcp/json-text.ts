/** Numbers keep their digits on the way through us: 9007199254740993 and 1e400 are no JavaScript numbers. */
interface WithSource {
  readonly source?: string;
}

/** V8's, of the proposal "JSON.parse source text access"; TypeScript does not know it yet. */
const { rawJSON } = JSON as unknown as { readonly rawJSON: (text: string) => object };

/**
 * JSON.parse for a value that is to be written again by JSON.stringify: a number that JavaScript would change becomes an
 * object that is written as it was read.
 */
export function parseToRewrite(text: string): unknown {
  return JSON.parse(text, function keep(this: unknown, _key: string, value: unknown, context?: WithSource): unknown {
    if (typeof value !== 'number' || context?.source === undefined) return value;
    return String(value) === context.source ? value : rawJSON(context.source);
  } as (key: string, value: unknown) => unknown);
}
