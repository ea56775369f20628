import { ownMember, ownMemberAt } from '../json/own-member.ts';
import { knownLists } from '../model/mcp-methods.ts';

/** An argument of a tool that clients repeat in a header field (MCP 2026-07-28, `x-mcp-header`). */
export interface ToolHeader {
  /** The field's name in lower case: `mcp-param-region`. */
  readonly field: string;
  /** Keys from the top of `params.arguments`. */
  readonly path: readonly string[];
  /** Whether values are compared as numbers: `42.0` is `42`. */
  readonly isNumber: boolean;
}

/**
 * Which headers the tools of one upstream declare, learnt from its lists. The upstream alone says so, whoever asked for the
 * list, so that no caller can teach something to another's disadvantage.
 */
export interface ToolHeaders {
  /** Whether something may be learnt from a list. Nearly no list declares any header; the others are not parsed. */
  concerns(list: Buffer | string): boolean;
  /** Takes over what an answer to `tools/list` declares; a newer list replaces what an older one said of the same tool. */
  learn(text: string): void;
  /** Empty for a tool that declares none, or that no list has shown yet. */
  of(tool: string): readonly ToolHeader[];
}

const key = 'x-mcp-header';
/** RFC 9110 §5.1. */
const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,256}$/;

/** Beyond these bounds nothing more is learnt of a tool, and of tools the one that was listed longest ago is forgotten. */
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
    learn(text) {
      for (const { name, inputSchema } of toolsIn(text)) {
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

/** Creates what gives each upstream, by its URL, a memory that outlives a configuration. */
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

function toolsIn(text: string): readonly ListedTool[] {
  const message = parsed(text);
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

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Along `properties` alone: what is declared elsewhere makes a tool invalid, and no client sends it. */
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
