import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { loadConfig } from '../../serve/config/load.ts';
import { disk } from '../../core/config/files.ts';
import { ownFieldFault } from '../../core/config/identity-header.ts';
import { expand } from '../../core/config/placeholders.ts';
import { headerValue, InvalidValue, plainUrl } from '../../core/config/values.ts';
import { compositionFiles, configurationFiles, discovered, draft, type Known } from './draft.ts';
import { exists } from '../../core/lib/files.ts';
import { shellWord as word } from '../shell-words.ts';
import type { McpServerFault } from '../../mcp/client/ask-server.ts';
import { Denial } from '../../core/model/denial.ts';
import type { OptionsOf } from '../options.ts';
import { type ExitCode, Failure, print, reportProblems, UsageError } from '../../capabilities/terminal.ts';
import { escaped, toolsPolicy } from './tools-policy.ts';

/**
 * `sallyport init`: writes a first configuration. It asks no questions. It uses the network only for `--upstream` and
 * `--issuer`, before it writes anything.
 *
 * @param folder Created if it does not exist.
 */
export async function init(folder: string, options: OptionsOf<'init'>): Promise<ExitCode> {
  const { compose, opaque, 'front-door': frontDoor, upstream, header, issuer, client } = options;
  if (frontDoor && (opaque || compose)) throw new UsageError('--front-door stands without --opaque and --compose');
  requireUrl('--upstream', upstream);
  requireUrl('--issuer', issuer);
  const headers = headersIn(header);
  const config = join(folder, 'gateway.yaml');
  try {
    const onlyPrints =
      client !== undefined &&
      !compose &&
      !frontDoor &&
      upstream === undefined &&
      issuer === undefined &&
      headers.size === 0;
    if (onlyPrints && (await exists(config))) return await printClient(config, client);
    const files = compose ? [...configurationFiles, ...compositionFiles] : configurationFiles;
    const inTheWay = await existing(folder, files);
    if (inTheWay.length > 0) throw new Failure(inTheWayText(folder, inTheWay));
    const sent = await expandedHeaders(headers, folder);
    const server = await serverOf(issuer);
    const known = { upstream: await upstreamOf(upstream, sent), headers, server, opaque, frontDoor };
    if (opaque && known.server !== undefined && known.server.introspectionEndpoint === undefined) {
      throw new Failure(`nothing was written: --opaque: ${known.server.issuer} publishes no introspection endpoint`);
    }
    const texts = await Promise.all(files.map(async (file) => [file, await draft(file, known)] as const));
    for (const [file, text] of texts) await write(join(folder, file), text);
    process.stdout.write(written(folder, files, known, compose));
    if (client === undefined) return 0;
    process.stdout.write('\n');
    return await printClient(config, client);
  } catch (error) {
    if (!(error instanceof Error && 'syscall' in error)) throw error;
    // The message of the system: "EACCES: permission denied, open 'x/gateway.yaml'".
    throw new Failure(error.message);
  }
}

/** @throws {UsageError} for a text that could not stand in the configuration. */
function requireUrl(option: string, text: string | undefined): void {
  try {
    if (text !== undefined) plainUrl(text);
  } catch (error) {
    if (!(error instanceof InvalidValue)) throw error;
    throw new UsageError(`${option}: ${JSON.stringify(text)} ${error.message}`);
  }
}

/**
 * The headers for the MCP server, as they are written, by their names.
 *
 * @throws {UsageError} for what `upstream.headers` does not take. No message shows a value.
 */
function headersIn(texts: readonly string[]): Known['headers'] {
  const headers = new Map<string, string>();
  for (const text of texts) {
    const [, name = '', value] = /^([A-Za-z0-9!#$%&'*+.^_`|~-]+):[ \t]*(.*?)[ \t]*$/s.exec(text) ?? [];
    if (value === undefined || value === '') throw new UsageError("--header: write 'Name: value'");
    const fault = ownFieldFault(name.toLowerCase(), 'none');
    if (fault !== undefined) throw new UsageError(`--header: ${name} ${fault}`);
    if ([...headers.keys()].some((each) => each.toLowerCase() === name.toLowerCase()))
      throw new UsageError(`--header: ${name} is given twice`);
    headers.set(name, value);
  }
  return headers;
}

/** @throws {Failure} for a placeholder that stands for nothing, and for what no header can carry. */
async function expandedHeaders(headers: Known['headers'], folder: string): Promise<Headers> {
  const { value, faults } = await expand(Object.fromEntries(headers), process.env, folder, disk);
  const [fault] = faults;
  if (fault !== undefined)
    throw new Failure(`nothing was written: --header: ${fault.path.join('.')}: ${fault.message}`);
  const sent = new Headers();
  for (const [name, text] of Object.entries(value as Readonly<Record<string, string>>)) {
    try {
      sent.set(name, headerValue(text));
    } catch (error) {
      if (!(error instanceof InvalidValue)) throw error;
      throw new Failure(`nothing was written: --header: ${name}: the value ${error.message}`);
    }
  }
  return sent;
}

async function upstreamOf(url: string | undefined, headers: Headers): Promise<Known['upstream']> {
  if (url === undefined) return undefined;
  const { listTools, McpServerFault, remedyForHost } = await import('../../mcp/client/ask-server.ts');
  try {
    const { tools, capableOnly, others } = await listTools(url, { headers });
    return { url, policy: toolsPolicy(tools), capableOnly, others };
  } catch (error) {
    if (!(error instanceof McpServerFault)) throw error;
    throw new Failure(
      `nothing was written: --upstream: ${url} ${remedies[error.kind](error.message, remedyForHost(url))}`,
    );
  }
}

const remedies: Readonly<Record<McpServerFault['kind'], (why: string, remedyForHost: string) => string>> = {
  unreachable: (why) => `cannot be reached (${why}): start the MCP server, or write its URL as it is from here`,
  unauthorized: (why) =>
    `${why}: the gateway will authorize callers, so disable its own authorization, or send it a key by --header`,
  host: (why, remedyForHost) => `${why}: ${remedyForHost}`,
  other: (why) => `${why}: write the URL of its MCP endpoint`,
};

async function serverOf(issuer: string | undefined): Promise<Known['server']> {
  if (issuer === undefined) return undefined;
  try {
    const server = await discovered(issuer, '--issuer');
    if (server.algorithms.length > 0 || server.introspectionEndpoint !== undefined) return server;
    throw new Failure(`nothing was written: --issuer: ${issuer} publishes neither usable keys nor introspection`);
  } catch (error) {
    if (!(error instanceof Denial)) throw error;
    const why = `${error.detail}: check that the server is up, and write its issuer byte for byte as its metadata do`;
    throw new Failure(`nothing was written: ${why}`);
  }
}

async function printClient(file: string, client: ClientName): Promise<ExitCode> {
  try {
    const { publicUrl, routes } = await loadConfig(file);
    const endpoints: readonly Endpoint[] = routes
      .filter(({ protocol }) => protocol === 'mcp')
      .map(({ name, path }) => ({ name, url: publicUrl + path }));
    if (endpoints.length === 0) throw new Failure(`${file} has no route with protocol: mcp`);
    return print(clientConfiguration(client, endpoints));
  } catch (error) {
    return reportProblems(file, error);
  }
}

async function existing(folder: string, files: readonly string[]): Promise<readonly string[]> {
  const there = await Promise.all(files.map((file) => exists(join(folder, file))));
  return files.filter((_file, index) => there[index]);
}

async function write(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  // Fails rather than overwrite a file that appeared after the check.
  await writeFile(path, text, { flag: 'wx' });
}

function written(folder: string, files: readonly string[], known: Known, compose: boolean): string {
  const change = folder === '.' ? '' : `  cd ${word(folder)}\n`;
  return `wrote
${listOf(folder, files)}
${findings(known)}Replace every value marked CHANGE, then run
${change}  npx sallyport check
  npx sallyport test
  ${compose ? 'docker compose up' : 'npx sallyport serve'}
and, while it serves,
  ${compose ? 'docker compose run --rm gateway doctor' : 'npx sallyport doctor'}
`;
}

function listOf(folder: string, files: readonly string[]): string {
  return files.map((file) => `  ${join(folder, file)}\n`).join('');
}

function inTheWayText(folder: string, files: readonly string[]): string {
  const list = `nothing was written: these files exist already\n${listOf(folder, files)}`;
  return `${list}write to a new folder instead: npx sallyport init DIR`;
}

function findings({ upstream, server, opaque, frontDoor }: Known): string {
  const lines: string[] = [];
  if (upstream !== undefined) {
    const { counts, omitted } = upstream.policy;
    const tools = counts.reading === 1 ? 'tool' : 'tools';
    lines.push(`policies/tools.yaml lists ${counts.reading} ${tools} for read, ${counts.other} for read and write.`);
    if (omitted.length > 0)
      lines.push(`It omits these names, so that the gateway refuses them: ${omitted.join(', ')}.`);
    const { capableOnly, others } = upstream;
    if (capableOnly.length > 0) {
      const names = capableOnly.map(escaped).join(', ');
      lines.push(`The server shows these only to clients with roots, sampling or elicitation: ${names}.`);
    }
    if (others.length > 0) {
      const keys = others.map((each) => (each === 'completions' ? 'methods' : each));
      lines.push(
        `It also offers ${others.join(', ')}. The gateway refuses them: to allow some, add ${keys.join(', ')}.`,
      );
    }
  }
  if (server !== undefined && !frontDoor) {
    const missing = ['read', 'write'].filter((scope) => server.scopes?.includes(scope) === false);
    if (missing.length > 0) {
      const names = missing.join(' and ');
      lines.push(`The authorization server does not list the scopes ${names}: add them there, or rename them here.`);
    }
    if (!opaque && server.algorithms.length > 0 && server.introspectionEndpoint !== undefined) {
      lines.push(
        'It can introspect opaque tokens: if it issues those, enable introspection in gateway.yaml, at CHANGE.',
      );
    }
  }
  if (frontDoor)
    lines.push('Register a client for the front door at the provider, and set its secret in PROVIDER_SECRET.');
  else if (opaque || server?.algorithms.length === 0)
    lines.push('Register a client for the gateway there, and set its secret in GATEWAY_CLIENT_SECRET.');
  return lines.length === 0 ? '' : `${lines.join('\n')}\n\n`;
}

type ClientName = NonNullable<OptionsOf<'init'>['client']>;

interface Endpoint {
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
