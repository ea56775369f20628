import type { Config } from '../../ports/config.ts';
import { type Finding, findingsOn } from '../finding.ts';
import type { Route } from '../../core/model/route.ts';
import { questionHeaders, serverUrl } from '../../ports/upstream-questions.ts';
import { listDefinitions, McpServerFault } from '../../mcp/client/ask-server.ts';
import type { Definition } from '../../mcp/definitions.ts';
import { differences, inWords } from './comparison.ts';
import { lockFileOf } from './lock-file.ts';
import { remedyForStranger } from './remedy.ts';
import { lockOf } from './settings.ts';

const MAX_NAMED = 20;

/** Compares what each server with a lock shows to a caller without credentials, as `sallyport lock --check` does. */
export async function examineLocks({ routes }: Pick<Config, 'routes'>): Promise<readonly Finding[]> {
  return (await Promise.all(routes.map(examineLock))).flat();
}

/** The tools whose schemas cannot be used, each with the cause. */
async function unusedSchemas(shown: readonly Definition[]): Promise<readonly string[]> {
  const { schemaFault } = await import('./strict-calls.ts');
  return shown
    .flatMap((each) => {
      const fault = schemaFault(each);
      return fault === undefined ? [] : [`${each.kind} ${JSON.stringify(each.name)}: ${fault}`];
    })
    .slice(0, MAX_NAMED);
}

async function examineLock(route: Route): Promise<readonly Finding[]> {
  const { name, policy, upstream } = route;
  const lock = lockOf.of(route);
  if (lock === undefined) return [];
  const { mode, approved } = lock;
  const on = findingsOn(`routes.${name}.policy.lock`);
  const url = serverUrl(upstream);
  const file = lockFileOf(policy?.name ?? '');
  try {
    const shown = await listDefinitions(url, { headers: questionHeaders(upstream) });
    const unused = lock.isStrict === true ? await unusedSchemas(shown) : [];
    const strict = unused.map((each) => on.warn(`calls: strict refuses ${each}`, 'mend the schema at the server'));
    const found = differences(approved, shown);
    if (found.length === 0) return [on.ok(`${url} shows what ${file} approves`), ...strict];
    const named = found.slice(0, MAX_NAMED).map(inWords).join(', ');
    const more = found.length > MAX_NAMED ? ` and ${found.length - MAX_NAMED} more` : '';
    const refuses = mode === 'deny' && found.some(({ difference }) => difference !== 'gone');
    const finding = on[refuses ? 'fail' : 'warn'](
      `${url} differs from ${file}: ${named}${more}${refuses ? '; the gateway refuses this' : ''}`,
      'restore the server, or review the change and run `sallyport lock`',
    );
    return [finding, ...strict];
  } catch (error) {
    if (!(error instanceof McpServerFault)) throw error;
    // The finding on the upstream says it.
    if (error.kind === 'unreachable' || error.kind === 'host') return [];
    const text = `${url} ${error.message}, so that it is not compared with ${file}`;
    const isRefused = error.kind === 'unauthorized';
    return [
      on.warn(text, isRefused ? remedyForStranger(route, 'lock --check') : 'set upstream.url to its MCP endpoint'),
    ];
  }
}
