/**
 * Requests that only open, keep and describe a connection, in every revision of MCP. They are allowed by a route's own
 * conditions whatever a policy lists; `methods` may ask more. What lists reveal is narrowed where they are answered, not
 * here.
 *
 * `subscriptions/listen` is among them because the resources that it names are decided on one by one. So is what is done
 * with one task: its id is the handle of a call that was allowed, and the gateway binds it to the caller. `tasks/list` is
 * not, see {@link onlyByName}.
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
  'subscriptions/listen',
  'tasks/get',
  'tasks/result',
  'tasks/update',
  'tasks/cancel',
]);

/**
 * Methods that only their exact name covers. A server that knows no users answers `tasks/list` with the tasks of all
 * callers: the operator who writes a pattern did not think of that.
 */
export const onlyByName: ReadonlySet<string | undefined> = new Set(['tasks/list']);

/** Whether an MCP message only keeps house; undefined is a GET, a DELETE or the client's own response. */
export function isHousekeeping(method: string | undefined): boolean {
  return method === undefined || housekeeping.has(method) || method.startsWith('notifications/');
}
