/**
 * @module The calls of other tools in the arguments of a call, `docs/inner-tools.md`. Each of them is a call for the
 * policy, so that no tool that calls others leads around it.
 */

import { describeValue, kindOf } from '../../core/lib/json/describe-value.ts';
import { isObject } from '../../core/lib/json/own-member.ts';
import type { PolicyDenial } from '../../core/model/denial.ts';
import { MAX_NAME_LENGTH } from '../../core/model/mcp.ts';
import { type Attempt, calledTool, type McpAttempt, unknownArguments } from '../../core/model/policy.ts';
import { type CallArgument, compileArgument } from '../../core/policy/argument.ts';
import { type DocumentPath, type EntryContext, rulePath } from '../../core/policy/document.ts';
import type { InnerDocument } from '../../../schema/validators.js';

/** The most inner calls of one `each`, and of a call in all. */
const MAX_EACH = 32;
const MAX_CALLS = 128;
/** How many levels below a call inner calls are followed. */
const MAX_LEVELS = 4;

/** Where the arguments of a tool name the tools that it calls. */
export interface Wrapper {
  /** Path in the policy file. */
  readonly rule: string;
  /** As written. */
  readonly document: InnerDocument;
  /** Where inner calls stand, in words. */
  readonly wanted: string;
  readonly because: string | undefined;
  /** Undefined: the arguments describe one call. */
  readonly each: CallArgument | undefined;
  readonly name: CallArgument;
  readonly arguments: CallArgument | undefined;
}

/** Compiles `inner` of an entry. Appends to `faults` what cannot be compiled. */
export function compileWrapper(document: InnerDocument, entry: EntryContext): Wrapper {
  const path = [...entry.path, 'inner'];
  if (entry.key !== 'tools') entry.faults.push({ path, message: `${entry.key} call no tools; only tools do` });
  const pointer = (member: keyof InnerDocument, at: DocumentPath): CallArgument | undefined => {
    const written = document[member];
    return written === undefined ? undefined : compileArgument(written, [...at, member], entry);
  };
  const { each = '', name, arguments: args } = document;
  if (args === name || args?.startsWith(`${name}/`) === true) {
    const message = `${describeValue(args)} is at or below name, which is a text: no call can meet it`;
    entry.faults.push({ path: [...path, 'arguments'], message });
  }
  const items = each === '' ? '' : `${each}/*`;
  const withArguments = args === undefined ? '' : `, arguments at ${items}${args}`;
  return {
    rule: rulePath(path),
    document,
    wanted: `inner calls: names at ${items}${name}${withArguments}`,
    because: entry.because,
    each: pointer('each', path),
    name: compileArgument(document.name, [...path, 'name'], entry),
    arguments: pointer('arguments', path),
  };
}

/** The inner calls of a call, the first that it makes first, each before its own; or what is wrong with them. */
interface WrappedCalls {
  readonly calls: readonly McpAttempt[];
}

/** Reads inner calls. What it read of a call is kept with the call: several steps ask for it. */
export class InnerCallReader {
  readonly #wrapperOf: (tool: string) => Wrapper | undefined;
  readonly #read = new WeakMap<Attempt, WrappedCalls>();
  /** What is wrong with a call that calls others: a denial, or what its reading threw. */
  readonly #faults = new WeakMap<Attempt, { readonly denial: PolicyDenial } | { readonly error: unknown }>();

  /** @param wrapperOf Of the entry that covers a tool. */
  constructor(wrapperOf: (tool: string) => Wrapper | undefined) {
    this.#wrapperOf = wrapperOf;
  }

  /** The calls that a call makes, and those that they make; as many as can be read. */
  callsOf(attempt: Attempt): readonly McpAttempt[] {
    const known = this.#read.get(attempt);
    if (known !== undefined) return known.calls;
    const calls: McpAttempt[] = [];
    if (attempt.kind === 'mcp') this.#follow(attempt, 0, calls);
    this.#read.set(attempt, { calls });
    return calls;
  }

  /**
   * The denial of a call whose inner calls cannot be read.
   *
   * @throws for a key in the way that differs from the wanted one only in case.
   */
  denialOf(attempt: Attempt): PolicyDenial | undefined {
    this.callsOf(attempt);
    const fault = this.#faults.get(attempt);
    if (fault === undefined) return undefined;
    if ('error' in fault) throw fault.error;
    return fault.denial;
  }

  #follow(attempt: McpAttempt, level: number, calls: McpAttempt[]): void {
    // Before its own are read, so that a fault of an inner call is found with it.
    if (level > 0) this.#read.set(attempt, { calls: [] });
    const tool = calledTool(attempt);
    const wrapper = tool === undefined ? undefined : this.#wrapperOf(tool);
    if (wrapper === undefined) return;
    const refuse = (detail: string): void => {
      this.#faults.set(attempt, { denial: { reason: 'argument.denied', rule: wrapper.rule, detail, scope: [] } });
    };
    let inner: readonly McpAttempt[] | string;
    try {
      inner = readCalls(wrapper, attempt);
    } catch (error) {
      this.#faults.set(attempt, { error });
      return;
    }
    if (typeof inner === 'string') return refuse(inner);
    if (level === MAX_LEVELS) return refuse(`wanted inner calls of at most ${MAX_LEVELS} levels, found more`);
    for (const call of inner) {
      if (calls.length === MAX_CALLS) return refuse(`wanted at most ${MAX_CALLS} inner calls, found more`);
      calls.push(call);
      this.#follow(call, level + 1, calls);
    }
  }
}

/** The calls in the arguments of one call; what is wrong with them, in words. @throws what a reader throws. */
function readCalls({ each, ...place }: Wrapper, attempt: McpAttempt): readonly McpAttempt[] | string {
  const { arguments: args, exactArguments: exact, inner = [] } = attempt;
  // A log has the names of all levels.
  if (args === unknownArguments) return inner.map((name) => callOf(attempt, name, unknownArguments));
  if (each === undefined) {
    const one = readCall(place, attempt, args, exact);
    return typeof one === 'string' ? one : [one];
  }
  const list = each.read(args);
  const isList = Array.isArray(list) && list.length > 0 && list.length <= MAX_EACH;
  if (!isList) {
    const found = Array.isArray(list) ? `a list of ${list.length}` : kindOf(list);
    return `argument ${each.pointer}: wanted a list of 1 to ${MAX_EACH} objects, found ${found}`;
  }
  const calls: McpAttempt[] = [];
  for (const [index, item] of (list as readonly unknown[]).entries()) {
    const at = `${each.pointer}/${index}`;
    if (!isObject(item)) return `argument ${at}: wanted an object, found ${kindOf(item)}`;
    const exactItem = exact && (() => (each.read(exact()) as readonly unknown[])[index]);
    const call = readCall(place, attempt, item, exactItem, at);
    if (typeof call === 'string') return call;
    calls.push(call);
  }
  return calls;
}

/** @param at Where `within` stands in the arguments. */
function readCall(
  { name, arguments: inner }: Pick<Wrapper, 'name' | 'arguments'>,
  attempt: McpAttempt,
  within: unknown,
  exact: (() => unknown) | undefined,
  at = '',
): McpAttempt | string {
  const tool = name.read(within);
  if (typeof tool !== 'string')
    return `argument ${at}${name.pointer}: wanted the name of a tool, found ${kindOf(tool)}`;
  // As of a call itself: servers in C would read another name, and to compare long ones takes long.
  if (tool.includes('\0') || tool.length > MAX_NAME_LENGTH)
    return `argument ${at}${name.pointer}: wanted the name of a tool, found another text`;
  const args = inner?.read(within);
  if (args !== undefined && !isObject(args))
    return `argument ${at}${inner?.pointer}: wanted an object or nothing, found ${kindOf(args)}`;
  return callOf(attempt, tool, args, exact && inner && (() => inner.read(exact())));
}

function callOf({ method }: McpAttempt, name: string, args: unknown, exactArguments?: () => unknown): McpAttempt {
  return { kind: 'mcp', method, targets: [{ kind: 'tool', name }], arguments: args, exactArguments };
}
