import { shellWord as word } from '../../lib/shell-word.ts';

/** The clients whose configuration `init` prints. */
export type ClientName = 'claude' | 'vscode' | 'cursor' | 'inspector';

/** An MCP server as its clients reach it: through the gateway. */
export interface Endpoint {
  /** The name of the route. */
  readonly name: string;
  readonly url: string;
}

/** The configuration of one MCP client for the gateway, as text for people. */
export function clientConfiguration(client: ClientName, endpoints: readonly Endpoint[]): string {
  return texts[client](endpoints);
}

const texts: Readonly<Record<ClientName, (endpoints: readonly Endpoint[]) => string>> = {
  claude: (endpoints) => `Claude Code: run
${lines(endpoints, ({ name, url }) => `  claude mcp add --transport http ${word(name)} ${word(url)}`)}
or write .mcp.json in the folder of a project:
${json({ mcpServers: entries(endpoints, (url) => ({ type: 'http', url })) })}
Then \`/mcp\` in Claude Code signs you in.

Claude Desktop and claude.ai: Settings, Connectors, Add custom connector, with the URL
${lines(endpoints, ({ url }) => `  ${url}`)}
They connect from the internet: public_url must be an https URL that is reachable from there.
`,
  vscode: (
    endpoints,
  ) => `VS Code: write .vscode/mcp.json in the workspace, or run the command "MCP: Open User Configuration":
${json({ servers: entries(endpoints, (url) => ({ type: 'http', url })) })}`,
  cursor: (endpoints) => `Cursor: write .cursor/mcp.json in the project, or ~/.cursor/mcp.json for all projects:
${json({ mcpServers: entries(endpoints, (url) => ({ url })) })}`,
  inspector: (endpoints) => `MCP Inspector: run
${lines(endpoints, ({ url }) => `  npx @modelcontextprotocol/inspector --transport http --server-url ${word(url)}`)}
`,
};

function lines(endpoints: readonly Endpoint[], line: (endpoint: Endpoint) => string): string {
  return endpoints.map(line).join('\n');
}

function entries(endpoints: readonly Endpoint[], entry: (url: string) => object): object {
  return Object.fromEntries(endpoints.map(({ name, url }) => [name, entry(url)]));
}

function json(value: object): string {
  return `${JSON.stringify(value, undefined, 2)}\n`;
}
