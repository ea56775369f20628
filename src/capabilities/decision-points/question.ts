import { parseToRewrite } from '../../core/lib/json/lossless.ts';
import { ownMember, ownMemberAt } from '../../core/lib/json/own-member.ts';
import { claimReader } from '../../core/lib/json/pointer.ts';
import type { Call } from '../../core/model/call.ts';
import { Denial } from '../../core/model/denial.ts';
import { reasons } from './reasons.ts';
import type { Grant } from '../../core/model/grant.ts';
import { knownRequests, listedKinds, type RequestName } from '../../core/model/mcp.ts';
import type { McpMethod, TargetKind } from '../../core/model/mcp-method.ts';
import type { McpAttempt, McpTarget } from '../../core/model/policy.ts';
import type { Principal } from '../../core/model/principal.ts';
import { otherMemberOf } from '../../core/policy/plan.ts';
import type { Route } from '../../core/model/route.ts';

/** An entity, AuthZEN Authorization API 1.0 §5. */
interface Entity {
  readonly type: string;
  readonly id: string;
  readonly properties?: Readonly<Record<string, unknown>>;
}

/** The body of a request to the access evaluation endpoint, AuthZEN Authorization API 1.0 §6.1. */
interface Question {
  readonly subject: Entity;
  readonly action: { readonly name: string };
  readonly resource: Entity;
  readonly context?: Readonly<Record<string, unknown>>;
}

/** The body of a request to the access evaluations endpoint, AuthZEN Authorization API 1.0 §7.1. */
interface ListQuestion extends Pick<Question, 'subject' | 'context'> {
  readonly evaluations: readonly Pick<Question, 'action' | 'resource'>[];
}

/** Puts the calls of a route into words of AuthZEN. */
export interface Describe {
  /**
   * What a call is about.
   *
   * @returns undefined for a message that no decision point is asked about.
   * @throws {Denial} `decision_point.denied` for a call that has no words in AuthZEN.
   */
  readonly call: (call: Pick<Call, 'method' | 'path'>, grant: Grant) => Question | undefined;
  /** What an inner call of it is about, or one of several targets of a message. */
  readonly part: (grant: Pick<Grant, 'principal'>, part: McpAttempt) => Question;
  /** What a list is about: a use of each entry by the caller; undefined for a caller without subject. */
  readonly list: (grant: Grant, entries: readonly McpTarget[]) => ListQuestion | undefined;
}

const entityTypes = { tool: 'tool', resource: 'resource', template: 'resource', prompt: 'prompt' } as const satisfies {
  readonly [Kind in TargetKind]: string;
};

/** A member of `context` with what a decision point learns of the params of a method besides what it acts on. */
const contexts: Readonly<Partial<Record<RequestName, readonly [member: string, parameter: string]>>> = {
  initialize: ['protocol_version', 'protocolVersion'],
  'logging/setLevel': ['level', 'level'],
};

/** Creates the questions about the calls of a route. */
export function createDescribe(route: Route, publicUrl: string, sendsArguments: boolean): Describe {
  const { policy, upstream } = route;
  const names = new Set([...upstream.identity.values(), ...upstream.statements.flatMap(({ claims }) => claims)]);
  const readers = [...names].map((name) => [name, claimReader(name)] as const);

  function subjectOf(principal: Principal | undefined): Entity {
    if (principal === undefined) throw new TypeError(`route ${route.name}: no principal to ask about`);
    const { subject, issuer, grantedScopes, claims } = principal;
    if (subject === undefined) throw unmapped('the token has no sub, by which the decision point knows its subjects');
    const read = readers.map(([name, reader]) => [name, reader?.(claims)] as const);
    const properties = Object.fromEntries([
      ...Object.entries(policy?.claimsRead(claims) ?? {}),
      ...read.filter(([, value]) => value !== undefined && typeof value !== 'symbol'),
      // Last, so that no claim of such a name takes their place.
      ['issuer', issuer],
      ['scope', grantedScopes.join(' ')],
    ]);
    return { type: 'identity', id: subject, properties };
  }

  function resourceOf({ method, targets }: McpAttempt, params: unknown): Entity {
    switch (mappingOf(method)) {
      case 'server':
        return { type: 'mcp_server', id: publicUrl + route.path };
      case 'target':
        return targetOf(targets);
      case 'task': {
        const id = ownMember(params, 'taskId');
        if (typeof id !== 'string') throw unmapped('the message names no task');
        return { type: 'task', id };
      }
      case undefined:
        throw unmapped('a method without a mapping to AuthZEN');
    }
  }

  const agentOf = (principal: Principal | undefined): Readonly<Record<string, unknown>> =>
    principal?.clientId === undefined ? {} : { agent: principal.clientId };

  function describeCall(
    call: Pick<Call, 'method' | 'path'>,
    { principal, action: { attempt, body } }: Grant,
  ): Question | undefined {
    const agent = agentOf(principal);
    if (attempt.kind === 'http') {
      const resource = { type: 'path', id: call.path };
      return question({ subject: subjectOf(principal), action: { name: call.method }, resource }, agent);
    }
    const { name, isNotification, hasArguments } = attempt.method;
    const other = sendsArguments ? otherMemberOf(attempt) : undefined;
    if (other !== undefined) throw unmapped(`${other}, of which no decision point knows`);
    // No decision point is asked about them.
    if (name === undefined || isNotification || name === 'ping') return undefined;
    const subject = subjectOf(principal);
    // The bytes that the upstream gets, with numbers as they were written.
    const params = ownMemberAt(parseToRewrite(String(body)), ['params']);
    const resource = resourceOf(attempt, params);
    const [member, parameter] = contexts[name as RequestName] ?? [];
    const own = parameter === undefined ? undefined : ownMember(params, parameter);
    const args = sendsArguments && hasArguments ? ownMember(params, 'arguments') : undefined;
    return question(
      { subject, action: { name }, resource },
      {
        ...agent,
        ...(member !== undefined && own !== undefined && { [member]: own }),
        ...(args !== undefined && { arguments: args }),
      },
    );
  }

  return {
    call: describeCall,
    part({ principal }, attempt) {
      const args = sendsArguments ? (attempt.exactArguments?.() ?? attempt.arguments) : undefined;
      const action = { name: attempt.method.name ?? '' };
      return question(
        { subject: subjectOf(principal), action, resource: targetOf(attempt.targets) },
        { ...agentOf(principal), ...(args !== undefined && { arguments: args }) },
      );
    },
    list({ principal }, entries) {
      if (principal?.subject === undefined) return undefined;
      const evaluations = entries.map(({ kind, name }) => ({
        action: { name: listedKinds[kind].usedBy },
        resource: { type: entityTypes[kind], id: name },
      }));
      return question({ subject: subjectOf(principal), evaluations }, agentOf(principal));
    },
  };
}

function targetOf([target, ...others]: readonly McpTarget[]): Entity {
  if (target === undefined || others.length > 0) throw unmapped('the message does not name one target');
  return { type: entityTypes[target.kind], id: target.name };
}

/** The default mapping of a method, as in the COAZ-MCP binding: what the resource is. */
function mappingOf({ name, target }: McpMethod): 'server' | 'target' | 'task' | undefined {
  if (name === undefined || !knownRequests.has(name)) return undefined;
  if (target === undefined || target === 'subscriptions') return 'server';
  return target !== 'reference' && target.kind === 'task' ? 'task' : 'target';
}

function question<About extends object>(
  about: About,
  context: Readonly<Record<string, unknown>>,
): About & Pick<Question, 'context'> {
  return Object.keys(context).length === 0 ? about : { ...about, context };
}

function unmapped(why: string): Denial {
  return new Denial(reasons['decision_point.denied'], why);
}
