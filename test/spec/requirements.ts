import { readFileSync } from 'node:fs';

/** One entry of `docs/internals/requirements.md`. */
export interface Requirement {
  /** Such as `R-17`. */
  readonly id: string;
  /** The party that it binds: the gateway, the front door, or a party that the demo plays. */
  readonly party: string;
  /** As the page has them in parentheses. */
  readonly sources: readonly string[];
  /** Whether it is struck through: it binds no party, and its number is not used again. */
  readonly isStruck: boolean;
}

/** An entry: a number, one sentence that begins with the party, and the sources. */
const entry =
  /^(~~)?\*\*(R-\d+)\*\* The (gateway|front door|(?:authorization server|client|MCP server|API) of the demo) .*\. \((.+)\)(~~)?$/;

/** The requirements of a page like `docs/internals/requirements.md`, in its order. */
export function requirementsOf(page: string): readonly Requirement[] {
  const items = page.split(/^- |\n\n/m).filter((item) => /^(?:~~)?\*\*R-/.test(item));
  return items.map((item) => {
    const [, opening, id, party, sources, closing] = entry.exec(item.trim().replaceAll(/\s+/g, ' ')) ?? [];
    if (id === undefined || party === undefined || sources === undefined || opening !== closing) {
      throw new Error(`docs/internals/requirements.md: this is no requirement: ${item}`);
    }
    return { id, party, sources: sources.split('; '), isStruck: opening !== undefined };
  });
}

export const requirements = requirementsOf(readFileSync('docs/internals/requirements.md', 'utf8'));
