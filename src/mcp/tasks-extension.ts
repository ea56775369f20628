/** The Tasks extension (SEP-2663) of 2026-07-28. */
const extension = 'io.modelcontextprotocol/tasks';

/** What a client must declare to do something with a task; the `data` of a -32021. */
export const tasksRequired = { requiredCapabilities: { extensions: { [extension]: {} } } };

const capabilities = ['_meta', 'io.modelcontextprotocol/clientCapabilities', 'extensions', extension];

/** Whether a request says that its client knows tasks. Each request says it anew, for itself alone. */
export function declaresTasks(params: Readonly<Record<string, unknown>>): boolean {
  let value: unknown = params;
  for (const key of capabilities) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return false;
    value = (value as Readonly<Record<string, unknown>>)[key];
  }
  return true;
}
