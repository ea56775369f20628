import type { Client } from '@modelcontextprotocol/client';
import { ownMember } from '../../lib/json/own-member.ts';
import { definitionOf, definitionsIn, MAX_DEFINITIONS } from '../definition.ts';
import { type KnownList, listedKinds, lockedLists } from '../../model/mcp.ts';
import type { DescribedDefinition } from '../../model/lock.ts';
import { askLimits, type AskOptions, askServer, MAX_PAGES, McpServerFault } from './ask-server.ts';

/** Takes a result as it is: a schema of the client could drop members, and a digest is over all of them. */
const asReceived = {
  '~standard': { version: 1, vendor: 'sallyport', validate: (value: unknown) => ({ value }) },
} as const;

/**
 * Lists the tools and prompts of an MCP server, from all pages, and its instructions. A definition that stands in two
 * places is returned twice.
 *
 * @throws {McpServerFault}
 */
export async function listDefinitions(
  url: string,
  options: Partial<AskOptions> = {},
): Promise<readonly DescribedDefinition[]> {
  return askServer(url, { ...askLimits, ...options }, async ({ client, signal }) => {
    const found: DescribedDefinition[] = [];
    const instructions = client.getInstructions();
    if (instructions !== undefined)
      found.push({ ...definitionOf('instructions', '', instructions), description: instructions });
    const capabilities = client.getServerCapabilities() ?? {};
    for (const { kind, ...list } of lockedLists) {
      if (capabilities[listedKinds[kind].key] === undefined) continue;
      for await (const entries of pagesOf(client, list, signal)) {
        if (found.length + entries.length > MAX_DEFINITIONS)
          throw new McpServerFault('other', `answered with more than ${MAX_DEFINITIONS} definitions`);
        for (const [index, definition] of definitionsIn(kind, entries).entries()) {
          const description = ownMember(entries[index], 'description');
          if (definition !== undefined)
            found.push({ ...definition, description: typeof description === 'string' ? description : '' });
        }
      }
    }
    return found;
  });
}

async function* pagesOf(
  client: Client,
  { method, member }: Pick<KnownList, 'method' | 'member'>,
  signal: AbortSignal,
): AsyncGenerator<readonly unknown[]> {
  let cursor: unknown;
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const params = cursor === undefined ? {} : { cursor };
    const result = await client.request({ method, params }, asReceived, { signal });
    const entries = ownMember(result, member);
    if (!Array.isArray(entries)) throw new McpServerFault('other', `answered ${method} without a list of ${member}`);
    yield entries;
    cursor = ownMember(result, 'nextCursor');
    if (typeof cursor !== 'string') return;
  }
  throw new McpServerFault('other', `answered ${method} with more than ${MAX_PAGES} pages`);
}
