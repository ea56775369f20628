import { isPolicyDecision, recordedClaims, type RecordedDecision } from '../review/recorded-decision.ts';

/** A decision as an example for the policy's test file; undefined if the record lacks what a test needs. */
export function testOf(record: RecordedDecision): string | undefined {
  const { input, scope, policy } = record;
  if (policy === undefined || !isPolicyDecision(record) || input.omitted !== undefined) return undefined;
  const claims = recordedClaims(record);
  const given = {
    ...(scope !== undefined && { scope }),
    ...(Object.keys(claims).length > 0 && { claims }),
    ...(input.lifetime !== undefined && { lifetime: `${input.lifetime}s` }),
  };
  const takesArguments = record.tool !== undefined || input.targets?.[0]?.kind === 'prompt';
  return [
    `- name: ${plain(`${record.subject ?? record.clientId ?? 'a caller'} ${wordsOf(record)}`)}`,
    `  given: ${flow(given)}`,
    ...(takesArguments ? ['  # Arguments are not recorded: add those that matter.'] : []),
    `  when: ${flow(whenOf(record))}`,
    `  then: ${flow(thenOf(record))}`,
    '',
  ].join('\n');
}

function wordsOf({ tool, method }: RecordedDecision): string {
  return tool === undefined ? `sends ${method}` : `calls ${tool}`;
}

function whenOf({ tool, input, method }: RecordedDecision): Readonly<Record<string, string>> {
  if (tool !== undefined) return { tool };
  const [target] = input.targets ?? [];
  if (target !== undefined) return { [target.kind]: target.name };
  // The methods of MCP have a slash, but for a few; those of HTTP are in capitals.
  return method === undefined || /^[A-Z]+$/.test(method) ? {} : { method };
}

function thenOf({ allow, shadow, reason, neededScope }: RecordedDecision): unknown {
  if (allow) return shadow ? 'shadow' : 'allow';
  return { deny: reason, ...(neededScope !== undefined && { challenge: neededScope }) };
}

/** A value in YAML's flow style, whose strings are plain where that cannot be read as something else. */
function flow(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(flow).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return typeof value === 'string' ? plain(value) : String(value);
  const members = Object.entries(value).map(([name, each]) => `${plain(name)}: ${flow(each)}`);
  return members.length === 0 ? '{}' : `{ ${members.join(', ')} }`;
}

/** YAML 1.2 §10.3.2: `null`, `true` and their like are no strings; neither are numbers. */
function plain(text: string): string {
  const isPlain = /^[A-Za-z_][\w./* -]*$/.test(text) && !/^(?:null|true|false|yes|no|on|off|y|n)$/i.test(text);
  return isPlain && text === text.trim() ? text : JSON.stringify(text);
}
