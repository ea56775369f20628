import type { Config } from '../../model/config.ts';
import { fetchText } from './fetch-text.ts';
import { type Finding, findingsOn } from './finding.ts';

/** `Date` has whole seconds, RFC 9110 §5.6.7. */
const GRANULARITY_MS = 1000;

/** Compares the clock of this machine with the `Date` of each authorization server, whose times tokens have. */
export async function examineClock({ authorizationServers }: Config): Promise<readonly Finding[]> {
  const servers = [...authorizationServers.values()];
  const found = servers.map(async ({ name, backchannel, clockToleranceMs }): Promise<readonly Finding[]> => {
    const on = findingsOn('clock');
    const sentAt = Date.now();
    // The examination of the server itself says that it cannot be reached.
    const date = await fetchText(backchannel, 'HEAD').then(
      ({ headers }) => headers.get('date'),
      () => null,
    );
    const theirs = Date.parse(date ?? '');
    if (Number.isNaN(theirs)) return [];
    // The answer was made at some time between request and receipt, and its `Date` is cut to the second.
    const behind = Math.max(0, theirs - Date.now());
    const ahead = Math.max(0, sentAt - theirs - GRANULARITY_MS);
    const text = `the clock differs from that of ${name} by ${Math.round(Math.max(behind, ahead) / 1000)} s`;
    if (Math.max(behind, ahead) <= clockToleranceMs) return [on.ok(text)];
    const remedy = 'its tokens are taken for expired or not yet valid: synchronize both by NTP';
    return [on.fail(`${text}; clock_tolerance is ${clockToleranceMs / 1000} s`, remedy)];
  });
  return (await Promise.all(found)).flat();
}
