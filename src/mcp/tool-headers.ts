import { ownMember, ownMemberAt } from '../core/lib/json/own-member.ts';
import type { Fields } from '../core/model/fields.ts';
import type { MessageId } from '../core/model/grant.ts';
import { knownLists } from '../core/model/mcp.ts';
import { decodedValue, mismatch } from './agreement.ts';

/** An argument of a tool that clients repeat in a header field (MCP 2026-07-28, `x-mcp-header`). */
export interface ToolHeader {
  /** The field's name in lower case: `mcp-param-region`. */
  readonly field: string;
  /** Keys from the top of `params.arguments`. */
  readonly path: readonly string[];
  /** Whether values are compared as numbers: `42.0` equals `42`. */
  readonly isNumber: boolean;
}

/**
 * The headers that the tools of one upstream declare, learnt from its lists. Only the upstream declares headers,
 * whichever caller asked for the list, so that no caller can affect another.
 */
export interface ToolHeaders {
  /** Whether a list may change what is known. Few lists declare a header; the others are not parsed. */
  concerns(list: Buffer | string): boolean;
  /**
   * Learns from a parsed answer to `tools/list`, or a batch. A newer list replaces what an older one declared for the
   * same tool.
   */
  learn(message: unknown): void;
  /** The headers of a tool; empty where it declares none or no list has named it yet. */
  of(tool: string): readonly ToolHeader[];
}

const key = 'x-mcp-header';
/** RFC 9110 §5.1. */
const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,256}$/;

/** Limits on what is learnt of one tool. The least recently listed tool is evicted first. */
const MAX_TOOLS = 1000;
const MAX_HEADERS = 32;
const MAX_DEPTH = 16;
const MAX_KEY = 256;

const toolLists = knownLists.filter(({ kind }) => kind === 'tool');
const none: readonly ToolHeader[] = [];

/** Creates the memory of an upstream. */
export function createToolHeaders(): ToolHeaders {
  const byTool = new Map<string, readonly ToolHeader[]>();
  return {
    concerns: (list) => byTool.size > 0 || list.includes(key),
    learn(message) {
      for (const { name, inputSchema } of toolsIn(message)) {
        const headers = declaredIn(inputSchema);
        byTool.delete(name);
        if (headers.length > 0) byTool.set(name, headers);
      }
      for (const tool of byTool.keys()) {
        if (byTool.size <= MAX_TOOLS) return;
        byTool.delete(tool);
      }
    },
    of: (tool) => byTool.get(tool) ?? none,
  };
}

/** Creates the lookup of each upstream's memory, by its URL. The memories outlive a configuration. */
export function createToolHeaderMemory(): (upstreamUrl: string) => ToolHeaders {
  const byUrl = new Map<string, ToolHeaders>();
  return (upstreamUrl) => {
    const known = byUrl.get(upstreamUrl) ?? createToolHeaders();
    byUrl.set(upstreamUrl, known);
    return known;
  };
}

interface ListedTool {
  readonly name: string;
  readonly inputSchema: unknown;
}

function toolsIn(message: unknown): readonly ListedTool[] {
  return (Array.isArray(message) ? (message as unknown[]) : [message]).flatMap((each) => {
    return toolLists.flatMap(({ member, name: named }) => {
      const tools = ownMemberAt(each, ['result', member]);
      if (!Array.isArray(tools)) return [];
      return tools.flatMap((tool: unknown) => {
        const name = ownMember(tool, named);
        if (typeof name !== 'string' || name.length > MAX_KEY) return [];
        return [{ name, inputSchema: ownMember(tool, 'inputSchema') }];
      });
    });
  });
}

/** Follows `properties` alone: a declaration elsewhere makes the tool invalid, and no client sends its header. */
function declaredIn(schema: unknown): readonly ToolHeader[] {
  const found: ToolHeader[] = [];
  visit(schema, []);
  return found;

  function visit(node: unknown, path: readonly string[]): void {
    if (found.length >= MAX_HEADERS || path.length > MAX_DEPTH) return;
    const name = ownMember(node, key);
    const type = ownMember(node, 'type');
    if (path.length > 0 && typeof name === 'string' && token.test(name)) {
      const isNumber = type === 'integer' || type === 'number';
      found.push({ field: `mcp-param-${name.toLowerCase()}`, path, isNumber });
    }
    const properties = ownMember(node, 'properties');
    if (typeof properties !== 'object' || properties === null) return;
    for (const [property, child] of Object.entries(properties)) {
      if (property.length <= MAX_KEY) visit(child, [...path, property]);
    }
  }
}

/**
 * The guarantee that the `Mcp-Param-*` headers of a call say what its arguments say (MCP 2026-07-28 §Custom Headers). A
 * proxy that routes by a header must not act on another value than the one that the policy decided on. A header for an
 * absent argument is refused too: servers ignore it, but such a proxy would not.
 *
 * @throws {Denial} `message.header_mismatch` (-32020), also for a header that is missing or duplicate.
 */
export function requireParamHeaders(
  declared: readonly ToolHeader[],
  args: unknown,
  { names, raw }: Pick<Fields, 'names' | 'raw'>,
  messageId: MessageId,
): void {
  for (const { field, path, isNumber } of declared) {
    const place = names.indexOf(field);
    const value = ownMemberAt(args, path);
    const wanted = textOf(value);
    if (place === -1) {
      // A value that no header can carry needs no header.
      if (wanted === undefined) continue;
      throw mismatch(`${field} is missing`, messageId);
    }
    const sent = decodedValue((raw[2 * place + 1] as string).trim());
    if (names.includes(field, place + 1)) throw mismatch(`two ${field}`, messageId);
    const agrees = isNumber && typeof value === 'number' ? sameNumber(sent, wanted) : sent === wanted;
    if (wanted === undefined || !agrees) throw mismatch(`${field} is not what the argument says`, messageId);
  }
}

const decimal = /^-?\d+(?:\.\d+)?$/;

function sameNumber(sent: string | undefined, wanted: string | undefined): boolean {
  if (sent === wanted) return true;
  return sent !== undefined && decimal.test(sent) && Number(sent) === Number(wanted);
}

/** An argument as a header carries it; undefined for absent, null, an object or list, and an inexact integer. */
function textOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  if (typeof value === 'boolean') return String(value);
  if (typeof value !== 'number' || !Number.isFinite(value)) return undefined;
  return Number.isInteger(value) && !Number.isSafeInteger(value) ? undefined : String(value);
}
