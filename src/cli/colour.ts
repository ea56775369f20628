import { styleText } from 'node:util';

/** The colour of each kind of text. */
const colours = { good: 'green', warning: 'yellow', bad: 'red' } as const;

/**
 * Text in a colour if `stream` is a terminal. `NO_COLOR` and `FORCE_COLOR` decide otherwise, as Node's
 * `util.styleText` documents. No meaning is in the colour alone.
 */
export function coloured(
  kind: keyof typeof colours,
  text: string,
  stream: NodeJS.WriteStream = process.stdout,
): string {
  return styleText(colours[kind], text, { stream });
}
