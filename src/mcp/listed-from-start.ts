import { ownMemberAt } from '../lib/json/own-member.ts';
import { parsedJson } from '../lib/json/parsed.ts';
import type { Action } from '../model/grant.ts';
import type { DefinitionKind } from '../model/lock.ts';
import { isLockedKind } from '../model/mcp.ts';

/** The kind of definitions that a call lists from the first page; undefined for any other call. */
export function listedFromStart({ attempt, body }: Pick<Action, 'attempt' | 'body'>): DefinitionKind | undefined {
  const kind = attempt.kind === 'mcp' ? attempt.method.list?.kind : undefined;
  if (body === undefined || !isLockedKind(kind)) return undefined;
  return ownMemberAt(parsedJson(body.toString()), ['params', 'cursor']) === undefined ? kind : undefined;
}
