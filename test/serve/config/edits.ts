import { expect, test } from 'vitest';
import { base, refusals } from './folder.ts';

/** A `gateway.yaml` and the lines that it is refused with, without its name. */
export type Row = readonly [title: string, yaml: string, ...lines: string[]];

/** The lines that a `gateway.yaml` alone is refused with, without its name. */
export async function refused(yaml: string): Promise<readonly string[]> {
  const lines = await refusals({ yaml, files: { empty: '\n' }, env: { EMPTY: '', SECRET: 'hunter2' } });
  return lines.map((line) => line.replace(/^gateway\.yaml/, ''));
}

const lines = base.trimEnd().split('\n');
/** The number of the line of {@link base} that has a key. */
const keys = new Map(lines.map((line, at) => [/^\s*(?:- )?(\w+):/.exec(line)?.[1] ?? '', at]));
/** Before which line of {@link base} a line is added, and its indentation. */
const places: Readonly<Record<string, readonly [before: number, indentation: number]>> = {
  server: [4, 4],
  servers: [6, 2],
  route: [10, 4],
  upstream: [12, 6],
  routes: [12, 2],
  top: [12, 0],
};

/**
 * {@link base} after edits, which `&` separates: `KEY VALUE` sets a key, `no KEY` removes it, `PLACE TEXT` adds lines, as
 * `route methods: [GET]` or `top limits: {}`. `⏎` is a line break.
 */
function editedBy(written: string): string {
  const text: (readonly string[])[] = [...lines, ''].map((line) => [line]);
  for (const each of written.split(' & ')) {
    const [, key = '', value = ''] = /^(no \w+|\S+) ?(.*)$/.exec(each) ?? [];
    const [before, indentation = 0] = places[key] ?? [];
    const at = before ?? keys.get(key.replace('no ', ''));
    if (at === undefined) throw new Error(`${key} is neither a key nor a place`);
    const [line = ''] = text[at]?.slice(-1) ?? [];
    const set = `${line.slice(0, line.indexOf(':'))}: ${value.replaceAll('⏎', '\n')}`.trimEnd();
    const added = value.split('⏎').map((more) => (more === '' ? '' : ' '.repeat(indentation) + more));
    if (before !== undefined) text[at] = [...(text[at] ?? []).slice(0, -1), ...added, line];
    else text[at] = key.startsWith('no ') ? [] : [set];
  }
  return text.flat().join('\n');
}

/**
 * The cases of a table: what is written, `→`, and the line that refuses it, or `accepted`. Several lines, and long ones, stand
 * below it, indented. `⏎` is a line break in what is written.
 */
export function casesOf(table: string): readonly (readonly [written: string, wanted: readonly string[]])[] {
  const cases = table.matchAll(/^(\S.*?)(?: → (.*))?\n((?: {2}.*\n)*)/gm);
  return [...cases].map(([, written = '', line, below = '']) => {
    const lines = (line ?? below.replaceAll(/^ {2}/gm, '').trimEnd()).split('\n');
    return [written, lines[0] === 'accepted' ? [] : lines];
  });
}

/** Declares a test for each case of a table of edits. `before` is what the edits of all cases begin with. */
export function refuses(table: string, before = ''): void {
  test.each(casesOf(table))(`${before}%s`, async (written, wanted) => {
    expect(await refused(editedBy(before + written))).toEqual(wanted);
  });
}

export const servers = 'authorization_servers.main';

/** {@link base} with a line more at the top level, number 13. */
export const top = (line: string): string => `${base}${line}\n`;
export const noJwt = ['    jwt: { algorithms: [RS256] }\n', ''] as const;
/** A line more in the route, number 11. */
export const route = (line: string) => ['    upstream:', `    ${line}\n    upstream:`] as const;
/** A line more in the upstream, number 13. */
export const upstream = (line: string) => ['127.0.0.1:3000\n', `127.0.0.1:3000\n      ${line}\n`] as const;
export const notFree = 'is reserved; choose a header name such as x-auth-subject';
