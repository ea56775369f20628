import { plainName } from '../lib/look-alike.ts';

/** The requests of a client in all revisions that the gateway knows, and in the Tasks extension. */
const requests: readonly string[] = [
  'completion/complete',
  'initialize',
  'logging/setLevel',
  'ping',
  'prompts/get',
  'prompts/list',
  'resources/list',
  'resources/read',
  'resources/subscribe',
  'resources/templates/list',
  'resources/unsubscribe',
  'server/discover',
  'subscriptions/listen',
  'tasks/cancel',
  'tasks/get',
  'tasks/list',
  'tasks/result',
  'tasks/update',
  'tools/call',
  'tools/list',
];
const byPlainName: ReadonlyMap<string, string> = new Map(requests.map((method) => [plainName(method), method]));

/**
 * The request of MCP that some servers read `method` as, though it is spelled in another way: `Tools/Call`, `"tools/call "`;
 * undefined where it is none. What it names and the handles that it shows would not be looked at.
 */
export function mistakenFor(method: string): string | undefined {
  const meant = byPlainName.get(plainName(method));
  return meant === method ? undefined : meant;
}
