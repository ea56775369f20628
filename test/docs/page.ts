import { readFile } from 'node:fs/promises';

/** A fenced block of a page. */
export interface Block {
  /** The word after the fence. */
  readonly language: string;
  readonly text: string;
  /** The file that its first line names: `# policies/tools.yaml`, `// items.mjs`. */
  readonly file: string | undefined;
}

/** A page of `docs/`, without its first heading: heading → text below it. */
export async function sectionsOf(page: string): Promise<ReadonlyMap<string, string>> {
  const text = await readFile(new URL(`../../docs/${page}`, import.meta.url), 'utf8');
  const parts = text.split(/^## /m).slice(1);
  return new Map(parts.map((part) => [part.slice(0, part.indexOf('\n')), part.slice(part.indexOf('\n') + 1)]));
}

/** The fenced blocks of a text, in their order. */
export function blocksIn(text: string): readonly Block[] {
  return [...text.matchAll(/^```(\w+)\n(.*?)^```$/gms)].map(([, language = '', block = '']) => ({
    language,
    text: block,
    file: /^(?:#|\/\/) ([\w./-]+\.(?:yaml|mjs))\b/.exec(block)?.[1],
  }));
}
