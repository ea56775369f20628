import type { Definition } from '../../mcp/definitions.ts';
import { hasCaseVariant, isObject, type Members, ownMember } from '../../core/lib/json/own-member.ts';
import { Denial } from '../../core/model/denial.ts';
import type { Action } from '../../core/model/grant.ts';
import { type Attempt, calledTool, type McpAttempt, type Policy } from '../../core/model/policy.ts';
import { otherMemberOf } from '../../core/policy/plan.ts';
import { compileSchema, type Judge } from './json-schema.ts';
import type { Faults } from './judgement.ts';
import { SchemaFault } from './schema-document.ts';
import { reasons } from './reasons.ts';

/** Schemas that are kept compiled. */
interface KeptSchemas {
  readonly schemas: number;
  readonly bytes: number;
}

/** The steps of judging a result, which may be longer than arguments: about 25 ms at most. */
const STEPS_OF_RESULT = 100_000;

/** The most schemas of a process. */
const most: KeptSchemas = { schemas: 10_000, bytes: 16 * 1024 * 1024 };
const none: KeptSchemas = { schemas: 0, bytes: 0 };
const noRoom = `more than ${most.schemas} schemas, or ${most.bytes} bytes of them, in the process`;

interface ToolSchemas {
  readonly input: Judge | undefined;
  readonly output: Judge | undefined;
  /** Why the tool cannot be called; undefined: its schemas are used. */
  readonly fault: string | undefined;
  readonly bytes: number;
}

/** The schemas of the approved tools of one server, `calls: strict`. They are compiled when the lock compares. */
export class StrictCalls {
  readonly #tools = new Map<string, ToolSchemas>();
  #bytes = 0;
  /** How many tools have an output schema. */
  #outputs = 0;
  readonly #ofOthers: () => KeptSchemas;

  /** @param ofOthers What the process keeps of other servers. */
  constructor(ofOthers = () => none) {
    this.#ofOthers = ofOthers;
  }

  /** What is kept of this server. A tool counts as two schemas. */
  get kept(): KeptSchemas {
    return { schemas: 2 * this.#tools.size, bytes: this.#bytes };
  }

  /** Whether the schemas of a tool need not be taken again. Those that found no room may find some later. */
  has(name: string): boolean {
    const known = this.#tools.get(name);
    return known !== undefined && known.fault !== noRoom;
  }

  /** Takes the schemas of a definition, in place of earlier ones. */
  take({ name, schemas }: Definition): void {
    if (schemas === undefined) return;
    const before = this.#tools.get(name);
    this.#bytes -= before?.bytes ?? 0;
    this.#outputs -= before?.output === undefined ? 0 : 1;
    this.#tools.delete(name);
    const others = this.#ofOthers();
    const { kept } = this;
    const room = {
      schemas: most.schemas - kept.schemas - others.schemas,
      bytes: most.bytes - kept.bytes - others.bytes,
    };
    const compiled = compiledSchemas(schemas, room);
    this.#tools.set(name, compiled);
    this.#bytes += compiled.bytes;
    this.#outputs += compiled.output === undefined ? 0 : 1;
  }

  /** Why a tool cannot be called; undefined: it can, or was not seen. */
  faultOf(name: string): string | undefined {
    return this.#tools.get(name)?.fault;
  }

  /**
   * Requires that the arguments of a call, and those of its inner calls, are valid by the schemas.
   *
   * @param isLocked Whether a tool was approved.
   * @returns the tool whose schema was not seen; undefined: all are valid.
   * @throws {Denial} `arguments.invalid`, or `argument.denied` for another member of `params`.
   */
  requireValid(
    attempt: Attempt,
    policy: Policy | undefined,
    isLocked: (tool: string) => boolean,
  ): { readonly tool: string; readonly isInner: boolean } | undefined {
    const tool = calledTool(attempt);
    if (attempt.kind !== 'mcp' || tool === undefined) return undefined;
    const because = policy?.because({ kind: 'tool', name: tool });
    const other = otherMemberOf(attempt);
    if (other !== undefined)
      throw new Denial('argument.denied', `${other} is not covered by this policy`, { rule: 'calls', because });
    const judge = (call: McpAttempt, name: string, inner?: string): boolean => {
      const judgeInput = this.#tools.get(name)?.input;
      if (judgeInput === undefined) return false;
      // What a wrapper calls is judged by the schema of the inner tool.
      const faults = judgeInput(call.arguments ?? {}, policy?.callsOthers(name) !== true);
      if (faults.length === 0) return true;
      const named = inWords(faults);
      throw new Denial(reasons['arguments.invalid'], `wanted arguments as the schema of the tool says: ${named}`, {
        rule: 'calls',
        because: policy?.because({ kind: 'tool', name }),
        data: { errors: faults },
        tool: inner,
      });
    };
    if (!judge(attempt, tool)) return { tool, isInner: false };
    // One that the server shows nowhere is decided by the policy alone.
    for (const call of policy?.innerCalls(attempt) ?? []) {
      const name = calledTool(call) ?? '';
      if (!judge(call, name, name) && isLocked(name)) return { tool: name, isInner: true };
    }
    return undefined;
  }

  /** Whether the result of a call of a tool is judged. */
  judges({ attempt }: Pick<Action, 'attempt'>): boolean {
    return this.#outputOf(calledTool(attempt)) !== undefined;
  }

  /**
   * Requires that each result of a call in messages of the server has the structured content that its tool announces,
   * wherever it arrives: in the answer to the call, in a stream that is resumed, as the result of a task (MCP
   * 2025-11-25 `tasks/result`, SEP-2663 `tasks/get` and `notifications/tasks`). A client takes a result from any
   * stream by its id: one whose tool is not known passes only while no tool of the server has an output schema.
   *
   * @throws {Denial} `upstream.invalid`
   */
  requireResults(messages: readonly unknown[], action: Action): void {
    if (this.#outputs === 0) return;
    for (const message of messages) {
      if (!isObject(message)) continue;
      const result = memberOf(message, 'result');
      if (isObject(result)) this.#requireAnswer(result, ownMember(message, 'id'), action);
      const params = memberOf(message, 'params');
      if (isObject(params)) this.#requireTask(params, action);
    }
  }

  #requireAnswer(result: Members, id: unknown, action: Action): void {
    const { attempt, messageId, resumes } = action;
    // An id that JavaScript cannot represent is an object, and matches any answer.
    const isOwn = messageId !== null && (id === messageId || typeof messageId === 'object');
    const method = attempt.kind === 'mcp' ? attempt.method : undefined;
    const called = isOwn ? calledTool(attempt) : id === resumes?.messageId ? resumes?.tool : undefined;
    if (called !== undefined) this.#requireResult(result, called, action);
    else if (isOwn && method?.fetches === 'result') this.#requireResult(result, toolOfTask(action), action);
    else if (isOwn && method !== undefined && !method.isTask) return;
    else {
      this.#requireTask(result, action);
      this.#requireResult(result, undefined, action);
    }
  }

  /** A task, with its result once it has one. */
  #requireTask(task: Members, action: Action): void {
    const result = memberOf(task, 'result');
    if (isObject(result)) this.#requireResult(result, toolOfTask(action, ownMember(task, 'taskId')), action);
  }

  /** @param tool Undefined: it is not known. */
  #requireResult(result: Members, tool: string | undefined, action: Action): void {
    const { messageId } = action;
    const content = memberOf(result, 'structuredContent');
    const holdsNothing = content === undefined && memberOf(result, 'content') === undefined;
    if (tool === undefined) {
      if (holdsNothing) return;
      throw new Denial('upstream.invalid', 'the result of a call of a tool, where none was asked for', { messageId });
    }
    const output = this.#outputOf(tool);
    if (output === undefined || memberOf(result, 'isError') === true) return;
    const type = memberOf(result, 'resultType');
    const isLater = type === 'input_required' || type === 'task' || isObject(memberOf(result, 'task'));
    if (isLater && holdsNothing) {
      const later = memberOf(result, 'result');
      if (isObject(later)) this.#requireResult(later, tool, action);
      return;
    }
    const faults =
      content === undefined ? [{ pointer: '', keyword: 'required' }] : output(content, false, STEPS_OF_RESULT);
    if (faults.length === 0) return;
    const detail = `wanted structuredContent as the output schema of the tool says: ${inWords(faults)}`;
    throw new Denial('upstream.invalid', detail, { messageId });
  }

  #outputOf(tool: string | undefined): Judge | undefined {
    return tool === undefined ? undefined : this.#tools.get(tool)?.output;
  }
}

/** The tool whose call created a task that the client asks about; undefined if it is not known. */
function toolOfTask({ tasks }: Action, id?: unknown): string | undefined {
  if (typeof id === 'string') return tasks?.get(id)?.tool;
  const [origin] = tasks?.size === 1 ? tasks.values() : [];
  return origin?.tool;
}

/** A member of a message of the server that decides. @throws {Denial} for a key that some parsers take for it. */
function memberOf(object: Members, name: string): unknown {
  if (hasCaseVariant(object, name))
    throw new Denial('upstream.invalid', `a key that differs from ${name} only in case`);
  return ownMember(object, name);
}

/** The faults of a value, for the log: pointer and keyword, or words for a member that the schema does not name. */
function inWords(faults: Faults): string {
  const words = faults.map(({ pointer, keyword }) =>
    keyword === 'unevaluatedProperties' || keyword === 'additionalProperties'
      ? `${pointer} is a member that the schema does not name`
      : `${pointer} ${keyword}`.trim(),
  );
  return words.join(', ');
}

function compiledSchemas({ input, output }: NonNullable<Definition['schemas']>, room = most): ToolSchemas {
  const bytes = Buffer.byteLength(JSON.stringify([input, output]));
  const unused = { input: undefined, output: undefined, bytes: 0 } as const;
  if (bytes > room.bytes || room.schemas < 2) return { ...unused, fault: noRoom };
  try {
    if (input === undefined) throw new SchemaFault('no inputSchema');
    const compiled = { input: compileSchema(input), output: output === undefined ? undefined : compileSchema(output) };
    return { ...compiled, fault: undefined, bytes };
  } catch (error) {
    if (!(error instanceof SchemaFault)) throw error;
    return { ...unused, fault: error.message };
  }
}

/** Why the schemas of a definition cannot be used for strict calls; undefined: they can. */
export function schemaFault({ schemas }: Definition): string | undefined {
  return schemas && compiledSchemas(schemas).fault;
}
