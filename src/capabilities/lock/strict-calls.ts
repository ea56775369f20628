import type { Definition } from '../../mcp/definitions.ts';
import { hasDuplicateMembers } from '../../core/lib/json/scanner.ts';
import { parsedJson } from '../../core/lib/json/parsed.ts';
import { isObject, ownMember } from '../../core/lib/json/own-member.ts';
import { Denial } from '../../core/model/denial.ts';
import type { Action } from '../../core/model/grant.ts';
import { type Attempt, calledTool, type McpAttempt, type Policy } from '../../core/model/policy.ts';
import { compileSchema, type Faults, type Judge } from './json-schema.ts';
import { SchemaFault } from './schema-document.ts';
import { reasons } from './reasons.ts';

/** The most schemas of a server, and their bytes in all. */
const MAX_SCHEMAS = 10_000;
const MAX_BYTES = 16 * 1024 * 1024;

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

  has(name: string): boolean {
    return this.#tools.has(name);
  }

  /** Takes the schemas of a definition, in place of earlier ones. */
  take({ name, schemas }: Definition): void {
    if (schemas === undefined) return;
    this.#bytes -= this.#tools.get(name)?.bytes ?? 0;
    this.#tools.delete(name);
    const compiled = compiledSchemas(schemas, MAX_BYTES - this.#bytes, MAX_SCHEMAS - 2 * this.#tools.size);
    this.#tools.set(name, compiled);
    this.#bytes += compiled.bytes;
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
    if (attempt.otherMember !== undefined) {
      const shown = attempt.otherMember.slice(0, 128);
      throw new Denial('argument.denied', `params.${shown} is not covered by this policy`, { rule: 'calls', because });
    }
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

  /**
   * Requires that a result of a call has the structured content that the tool announces.
   *
   * @throws {Denial} `upstream.invalid`
   */
  requireResult(text: string, { attempt, messageId }: Action): void {
    const tool = calledTool(attempt);
    const output = tool === undefined ? undefined : this.#tools.get(tool)?.output;
    if (output === undefined || !text.includes('"result"')) return;
    const message = parsedJson(text);
    for (const answer of Array.isArray(message) ? (message as readonly unknown[]) : [message]) {
      const result = ownMember(answer, 'result');
      if (!isObject(result) || ownMember(result, 'isError') === true) continue;
      const type = ownMember(result, 'resultType');
      if (type === 'input_required' || type === 'task' || isObject(ownMember(result, 'task'))) continue;
      const content = ownMember(result, 'structuredContent');
      const faults = content === undefined ? [{ pointer: '', keyword: 'required' }] : output(content, false);
      if (faults.length === 0 && !hasDuplicateMembers(text, message)) continue;
      const named = inWords(faults);
      const detail = `wanted structuredContent as the output schema of the tool says: ${named}`;
      throw new Denial('upstream.invalid', detail, { messageId });
    }
  }
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

function compiledSchemas(
  { input, output }: NonNullable<Definition['schemas']>,
  room: number,
  count: number,
): ToolSchemas {
  const bytes = Buffer.byteLength(JSON.stringify([input, output]));
  const unused = { input: undefined, output: undefined, bytes: 0 } as const;
  if (bytes > room || count < 2) return { ...unused, fault: 'schemas beyond those that are kept' };
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
  return schemas && compiledSchemas(schemas, MAX_BYTES, MAX_SCHEMAS).fault;
}
