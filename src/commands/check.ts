import { load } from '../serve/config/load.ts';
import { type Processes, requireShared } from '../serve/config/several-processes.ts';
import { testsOf } from '../policy-files/policy-tests.ts';
import { counted } from '../core/lib/wording.ts';
import { knownRedirects } from '../serve/config/quirks/clients.ts';
import { coloured, type ExitCode } from '../capabilities/terminal.ts';

/**
 * `sallyport check`: loads everything that `serve` and `test` would, and prints every problem, then every warning.
 *
 * @param isStrict Whether a warning changes the exit code.
 * @param processes Those that will serve.
 */
export async function check(file: string, isStrict: boolean, processes: Processes): Promise<ExitCode> {
  const loaded = await load(file);
  requireShared(loaded, file, processes);
  await testsOf(loaded);
  const { routes, policies, warnings, frontDoor } = loaded.config;
  const label = coloured('warning', 'warning', process.stderr);
  for (const warning of warnings) process.stderr.write(`${label}: ${warning}\n`);
  process.stdout.write(knownClientsText(frontDoor?.clients.registration?.known ?? []));
  const isClean = warnings.length === 0;
  const verdict = isClean ? 'ok' : `ok, with ${counted(warnings.length, 'warning')}`;
  const counts = `${counted(routes.length, 'route')}, ${policies.size} ${policies.size === 1 ? 'policy' : 'policies'}`;
  process.stdout.write(`${file}: ${counts}: ${coloured(isClean ? 'good' : 'warning', verdict)}\n`);
  return isStrict && warnings.length > 0 ? 1 : 0;
}

/** The redirect URIs of each known client for `front_door.clients.registration.redirect_uris`, a line each. */
export function knownClientsText(names: Iterable<string> = knownRedirects.keys()): string {
  return [...names].map((name) => `known:${name}: ${knownRedirects.get(name)?.join(' ') ?? ''}\n`).join('');
}
