import { askLimits, type AskOptions, askServer } from './ask-server.ts';

/** A tool as its server describes it. The server chose the name, which may hold any character. */
export interface Tool {
  readonly name: string;
  /** Whether the server says that the tool changes nothing: `annotations.readOnlyHint`. */
  readonly readOnly: boolean;
}

/** What an MCP server says of itself. */
export interface McpServer {
  /** The agreed revision of the protocol, such as `2026-07-28`. */
  readonly revision: string;
  readonly tools: readonly Tool[];
}

/**
 * Lists the tools of an MCP server, and calls none.
 *
 * @throws {McpServerFault}
 */
export async function listTools(url: string, options: AskOptions = askLimits): Promise<McpServer> {
  return askServer(url, options, async ({ client, revision, signal }) => {
    // A server without the capability has no tools, and may refuse the question.
    const { tools } =
      client.getServerCapabilities()?.tools === undefined
        ? { tools: [] }
        : await client.listTools(undefined, { signal });
    return {
      revision,
      tools: tools.map(({ name, annotations }) => ({ name, readOnly: annotations?.readOnlyHint === true })),
    };
  });
}
