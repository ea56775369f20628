/**
 * Requests that only open, keep and describe a connection, in every revision of MCP. They are allowed by a route's own
 * conditions whatever `tools` lists; what lists reveal is narrowed where they are answered, not here.
 *
 * Not among them: `resources/subscribe` and `completion/complete` (they reveal content), `tasks/*` (they reach the
 * results of other calls).
 */
const housekeeping: ReadonlySet<string> = new Set([
  'initialize',
  'ping',
  'server/discover',
  'tools/list',
  'resources/list',
  'resources/templates/list',
  'prompts/list',
  'logging/setLevel',
]);

/** Whether an MCP message only keeps house; undefined is a GET, a DELETE or the client's own response. */
export function isHousekeeping(method: string | undefined): boolean {
  return method === undefined || housekeeping.has(method) || method.startsWith('notifications/');
}
