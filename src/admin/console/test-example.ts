import type { DecisionRecord } from '../../model/decision.ts';
import { flowYaml } from '../../review/flow-yaml.ts';
import { isPolicyDecision, recordedAttempt, recordedClaims } from '../../review/recorded-decision.ts';

/**
 * A decision as an example for the policy's test file; undefined if the record lacks what a test needs.
 *
 * @param isOverTime Whether the call was under rules over time.
 * @param listsRequests Whether the policy decides by method and path.
 */
export function testOf(record: DecisionRecord, isOverTime: boolean, listsRequests = false): string | undefined {
  const { input, scope, policy } = record;
  if (policy === undefined || !isPolicyDecision(record) || input.omitted !== undefined) return undefined;
  const attempt = recordedAttempt(record, { protocol: listsRequests ? 'http' : 'mcp' });
  const request = attempt.kind === 'http' ? attempt.request : undefined;
  if (listsRequests && request === undefined) return undefined;
  const claims = recordedClaims(record);
  const given = {
    ...(scope !== undefined && { scope }),
    ...(Object.keys(claims).length > 0 && { claims }),
    ...(input.lifetime !== undefined && { lifetime: `${input.lifetime}s` }),
  };
  const takesArguments = record.tool !== undefined || input.targets?.[0]?.kind === 'prompt';
  return [
    `- name: ${flowYaml(`${record.subject ?? record.clientId ?? 'a caller'} ${wordsOf(record)}`)}`,
    `  given: ${flowYaml(given)}`,
    ...(takesArguments ? ['  # Arguments are not recorded: add those that matter.'] : []),
    ...(isOverTime ? ['  # Earlier calls are not recorded: add those that matter to given, as history.'] : []),
    `  when: ${flowYaml(request === undefined ? whenOf(record) : { request })}`,
    `  then: ${flowYaml(thenOf(record))}`,
    '',
  ].join('\n');
}

function wordsOf({ tool, method }: DecisionRecord): string {
  return tool === undefined ? `sends ${method}` : `calls ${tool}`;
}

function whenOf({ tool, input, method }: DecisionRecord): Readonly<Record<string, string>> {
  if (tool !== undefined) return { tool };
  const [target] = input.targets ?? [];
  if (target !== undefined) return { [target.kind]: target.name };
  // The methods of MCP have a slash, but for a few; those of HTTP are in capitals.
  return method === undefined || /^[A-Z]+$/.test(method) ? {} : { method };
}

function thenOf({ allow, shadow, reason, neededScope }: DecisionRecord): unknown {
  if (allow) return shadow ? 'shadow' : 'allow';
  return { deny: reason, ...(neededScope !== undefined && { challenge: neededScope }) };
}
