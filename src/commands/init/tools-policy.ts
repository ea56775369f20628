import { isAccepted } from '../../policy-files/policies.ts';
import { jsonEscapes } from '../../core/lib/wording.ts';
import type { Tool } from '../../mcp/client/ask-server.ts';

/** The scope of every request, and the one that all but reading tools need in addition. */
const scopes = { base: 'read', more: 'write' } as const;

/** A policy for the tools of a server, and its tests, as YAML. */
export interface ToolsPolicy {
  readonly policy: string;
  readonly tests: string;
  /** The numbers of tools under each scope. */
  readonly counts: { readonly reading: number; readonly other: number };
  /** Names that no policy should list, escaped for a terminal. */
  readonly omitted: readonly string[];
}

/** At most this many names: a policy that is longer is not read by its operator. */
const MAX_TOOLS = 1000;
/** MCP 2025-11-25, Tools §Tool Names: SHOULD be at most 128 characters. */
const MAX_NAME = 128;
/** A line of visible characters. `*` would make the name a pattern. */
const listable = /^(?! )(?!.* $)[\p{L}\p{M}\p{N}\p{P}\p{S} ]+$/u;

/** Words of names that suggest secrets, in the singular. To read these is more than to read. */
const secretWords: ReadonlySet<string> = new Set([
  'env',
  'getenv',
  'printenv',
  'environ',
  'environment',
  'secret',
  'password',
  'passwd',
  'passphrase',
  'credential',
  'cred',
  'token',
  'key',
  'apikey',
  'vault',
]);

/** Words of names that suggest that the caller chooses what is done, so that `readOnlyHint` says little. */
const commandWords: ReadonlySet<string> = new Set([
  'aggregate',
  'query',
  'execute',
  'exec',
  'run',
  'eval',
  'evaluate',
  'sql',
  'cypher',
  'graphql',
  'command',
  'cmd',
  'script',
  'shell',
  'bash',
  'code',
]);

/**
 * The policy that lists `tools`. Those that only read, as the server says, need {@link scopes}.base, unless their name
 * suggests secrets or commands; the others need {@link scopes}.more too. The server chose the names, so that each is
 * quoted or omitted.
 */
export function toolsPolicy(tools: readonly Tool[]): ToolsPolicy {
  const readOnly = new Map<string, boolean>();
  const wrappers = new Map(tools.flatMap(({ name, inner }) => (inner === undefined ? [] : [[name, inner] as const])));
  // A name that appears twice only reads if both do.
  for (const tool of tools) readOnly.set(tool.name, tool.readOnly && readOnly.get(tool.name) !== false);
  const names = [...readOnly.keys()];
  const listed = names.filter(isListable).slice(0, MAX_TOOLS);
  const isReading = (name: string): boolean => readOnly.get(name) === true && !suggestsMore(name);
  const reading = listed.filter(isReading);
  const other = listed.filter((name) => !isReading(name));
  return {
    policy: policyOf(reading, other, wrappers),
    tests: testsOf(reading, other, wrappers),
    counts: { reading: reading.length, other: other.length },
    omitted: names.filter((name) => !listed.includes(name)).map(escaped),
  };
}

function isListable(name: string): boolean {
  return name.length <= MAX_NAME && !name.includes('*') && listable.test(name) && isAccepted({ tools: { [name]: {} } });
}

/** Looks at each word of a name: `get-env`, `getApiKey`, `READ_SECRET_2`. */
function suggestsMore(name: string): boolean {
  const words = name.replaceAll(/(?<=\p{Ll})(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})/gu, ' ').split(/[^\p{L}]+/u);
  const singular = words.map((word) => word.toLowerCase().replace(/s$/, ''));
  return singular.some((word) => secretWords.has(word) || commandWords.has(word));
}

/** The tools that call others, by their names. */
type Wrappers = ReadonlyMap<string, NonNullable<Tool['inner']>>;

function policyOf(reading: readonly string[], other: readonly string[], wrappers: Wrappers): string {
  const { base, more } = scopes;
  const entry = (name: string, conditions: readonly string[]): string => {
    const inner = wrappers.get(name);
    if (inner === undefined) return `  ${key(name)}: ${flow(conditions)}`;
    const where = `inner: { name: ${inner.name}, arguments: ${inner.arguments} }`;
    const comment = '# It calls other tools, each of which is decided too. Check where it names them.';
    return `  ${key(name)}: ${flow([...conditions, where])} ${comment}`;
  };
  const entries = [
    ...(reading.length === 0
      ? []
      : ['  # The server says that these only read (`readOnlyHint`). Check that: it is a claim of the server.']),
    ...reading.map((name) => entry(name, [])),
    ...(other.length === 0
      ? []
      : [`  # All others also need \`${more}\`: they may write, or their names suggest secrets or commands.`]),
    ...other.map((name) => entry(name, [`scope: ${more}`])),
  ];
  return `# yaml-language-server: $schema=../schema/policy.schema.json
#
# Which callers may call which tools, on the routes that name this policy. Every condition must hold.

# For every request. A caller without this scope gets a challenge that names it.
scope: ${base}

# The tools that the server listed when \`init\` asked it. What is not listed, such as a new tool or a resource, is
# refused to every caller, and hidden from lists.
tools:${entries.length === 0 ? ' {}' : ''}
${entries.map((line) => `${line}\n`).join('')}`;
}

function flow(members: readonly string[]): string {
  return members.length === 0 ? '{}' : `{ ${members.join(', ')} }`;
}

function testsOf(reading: readonly string[], other: readonly string[], wrappers: Wrappers): string {
  const { base, more } = scopes;
  const both = `${base} ${more}`;
  const names = [...reading, ...other];
  const unlisted = unusedName(names);
  const newTools = `{ tool: ${names.length === 0 ? 'any' : `{ not: [${names.map(key).join(', ')}] }`} }`;
  // The gateway cannot read a call of a wrapper that names no tool.
  const inner = [...reading, ...other].find((name) => !wrappers.has(name)) ?? unlisted;
  const call = (name: string): string => {
    const wrapper = wrappers.get(name);
    const args = wrapper === undefined ? '' : `, arguments: { ${wrapper.name.slice(1)}: ${key(inner)} }`;
    return `tool: ${key(name)}${args}`;
  };
  const isTestable = (name: string): boolean =>
    !wrappers.has(name) || (inner !== unlisted && (other.includes(name) || reading.includes(inner)));
  const tests = [
    test('a caller with the scope connects', base, 'method: initialize', 'allow'),
    test('a caller without scope gets a challenge', '', 'method: initialize', refused('scope.insufficient', base)),
    ...reading.filter(isTestable).map((name) => test(`${base} is enough for ${name}`, base, call(name), 'allow')),
    ...other
      .filter(isTestable)
      .flatMap((name) => [
        test(`${more} allows ${name}`, both, call(name), 'allow'),
        test(`${base} is not enough for ${name}`, base, call(name), refused('scope.insufficient', both)),
      ]),
    test('a tool that is not listed is refused', both, `tool: ${unlisted}`, refused('tool.unlisted', '')),
    property('no caller without the scope gets anything', `{ not: { scope: ${base} } }`, 'any', 'deny'),
    property('no token allows a tool that is not listed', `{ scope: ${base} }`, newTools, '{ deny: tool.unlisted }'),
  ];
  return `# yaml-language-server: $schema=../schema/policy-test.schema.json
#
# The tests of tools.yaml. \`npx sallyport test\` runs them with the code that \`serve\` uses. With \`given\`, a test is
# about one caller. With \`for_all\`, it is about every caller: \`test\` proves it, or prints a caller for whom it does
# not hold.

${tests.join('')}`;
}

function test(name: string, scope: string, when: string, then: string): string {
  const given = scope === '' ? '{}' : `{ scope: ${scope} }`;
  return `- name: ${key(name)}\n  given: ${given}\n  when: { ${when} }\n  then: ${then}\n`;
}

function property(name: string, callers: string, when: string, then: string): string {
  return `- name: ${name}\n  for_all: ${callers}\n  when: ${when}\n  then: ${then}\n`;
}

function refused(reason: string, challenge: string): string {
  return `{ deny: ${reason}, challenge: ${key(challenge)} }`;
}

function unusedName(names: readonly string[]): string {
  let name = 'no_such_tool';
  while (names.includes(name)) name += '_';
  return name;
}

/** A word that YAML 1.1 and 1.2 read as itself, in a flow too. Any other text is quoted. */
const plain = /^(?!(?:null|true|false|yes|no|on|off|y|n)$)[A-Za-z_][\w -]*(?<! )$/i;

/** A text as a YAML scalar. Every JSON string is one. */
function key(text: string): string {
  return plain.test(text) ? text : escaped(text);
}

/** A text as a JSON string without any character that a terminal or a reader of YAML could obey. */
export function escaped(text: string): string {
  return JSON.stringify(text.length > MAX_NAME ? `${text.slice(0, MAX_NAME)}…` : text).replaceAll(
    /[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu,
    jsonEscapes,
  );
}
