import { mcpMethod } from '../../../src/core/model/mcp.ts';
import type { Attempt, Decision, McpAttempt, McpTarget, PolicyDecision } from '../../../src/core/model/policy.ts';
import type { Principal } from '../../../src/core/model/principal.ts';
import { compilePolicy } from '../../../src/policy-parts/compile.ts';
import { type PolicyDocument, PolicyError, rulePath } from '../../../src/core/policy/document.ts';

/** What a test says of a caller, in the words of `policies/NAME.test.yaml`. */
export interface Given {
  readonly scope?: string;
  readonly claims?: Readonly<Record<string, unknown>>;
  /** Of the token, in seconds; null leaves `exp` and `iat` out. */
  readonly lifetime?: number | null;
}

const now = 1_800_000_000;

export function caller({ scope = '', claims = {}, lifetime = 900 }: Given = {}): Principal {
  const grantedScopes = scope.split(' ').filter((token) => token !== '');
  return {
    issuer: 'https://as.example',
    subject: 'alice',
    clientId: 'agent',
    callerKey: undefined,
    grantedScopes,
    scopes: new Set(grantedScopes),
    audience: ['https://api.example'],
    expiresAt: lifetime === null ? undefined : now + lifetime,
    issuedAt: lifetime === null ? undefined : now,
    form: 'jwt',
    confirmation: undefined,
    introspectionJwt: undefined,
    claims,
  };
}

export const alice = caller({ claims: { tenant: 'acme' } });

/** A call of a tool. */
export function call(tool: string | undefined, args?: unknown): McpAttempt {
  const targets = tool === undefined ? [] : [{ kind: 'tool', name: tool } as const];
  return { kind: 'mcp', method: mcpMethod('tools/call'), targets, arguments: args };
}

/** A message that acts on `targets`, each written `kind name`. */
export function message(method: string | undefined, ...targets: readonly string[]): McpAttempt {
  return { kind: 'mcp', method: mcpMethod(method), targets: targets.map(target), arguments: undefined };
}

/** `resource prices://gold` as a target. */
export function target(text: string): McpTarget {
  const [kind, name] = text.split(/ (.*)/s, 2);
  return { kind: kind as McpTarget['kind'], name: name ?? '' };
}

export function decide(document: PolicyDocument, given: Given, attempt: Attempt = { kind: 'http' }): PolicyDecision {
  return compilePolicy('test', document).decide(caller(given), attempt);
}

/** Why a policy cannot be compiled: each fault with its path. */
export function faultsOf(document: PolicyDocument): readonly string[] {
  try {
    compilePolicy('test', document);
    return [];
  } catch (error) {
    if (!(error instanceof PolicyError)) throw error;
    return error.faults.map(({ path, message }) => `${rulePath(path)}: ${message}`);
  }
}

/** A decision without its plan. */
export function plain({ plan, ...decision }: PolicyDecision): Decision {
  if (plan === undefined) throw new TypeError('a decision without a plan');
  return decision;
}

/** A decision in one line: `allow policy`, `deny scope.insufficient scope [read]`. */
export function told(decision: Decision): string {
  if (decision.allow) return `allow ${decision.rule}`;
  const { reason, rule, scope } = decision.denial;
  return `deny ${reason} ${rule}${scope.length > 0 ? ` [${scope.join(' ')}]` : ''}`;
}
