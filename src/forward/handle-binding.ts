import type { Rewriting } from '../mcp/body-filter.ts';
import type { Grant } from '../model/grant.ts';

/** The text of a message with the upstream's handles bound to the caller; undefined where it has none. */
export type BindHandles = (text: string, grant: Grant) => string | undefined;

/** The names of the members that hold handles, `taskIds` too. */
const names = ['taskId', 'requestState'];

/** What binds the handles of an answer. Nothing has to be read: a handle that slips by unbound opens nothing. */
export function handleRewriting(grant: Grant, bindHandles: BindHandles): Rewriting {
  return {
    concerns: (part) => names.some((name) => part.includes(name)),
    rewrite: (text) => bindHandles(text, grant),
    mustRead: false,
  };
}
