import { expect, test } from 'vitest';
import type { Config } from '../../src/ports/config.ts';
import type { Snapshot } from '../../src/serve/config/snapshot.ts';
import type { Route } from '../../src/core/model/route.ts';
import { start } from '../../src/serve/start.ts';
import { createWrittenLog } from '../support/written-log.ts';
import { startTransmitter } from '../support/transmitter.ts';
import { forThisTest } from '../support/start-before.ts';
import { loaded } from './config/folder.ts';

test('a configuration that cannot be built leaves the sources of revocations as they were', async () => {
  const { url } = await forThisTest(startTransmitter());
  const configOf = (sources: readonly string[]) =>
    loaded({
      yaml: `
public_url: http://gateway.test
listen: 127.0.0.1:0
authorization_servers: { main: { issuer: "${url}", jwt: { algorithms: [RS256] } } }
revocation:
  events:
${sources.map((name) => `    ${name}: { issuer: "${url}", delivery: push, path: /${name}, subjects: main }`).join('\n')}
routes: [{ name: api, path: /api, audience: a, upstream: { url: "http://127.0.0.1:1" } }]
`,
    });
  const running = await forThisTest(
    start(await configOf(['one']), { output: createWrittenLog().output }).then((started) => ({
      ...started,
      close: () => started.close(0),
    })),
  );
  const reload = async (to: Config): Promise<void> =>
    running.reload(to, { texts: [], folders: [], at: 0 } satisfies Snapshot);
  const sources = () => running.kept?.state().sources.map(({ name }) => name);
  const next = await configOf(['one', 'two']);
  // The loader lets through no configuration that cannot be built.
  const broken = [{ path: '/', authorizationServers: [{ name: 'main' }] }] as unknown as readonly Route[];
  await expect(reload({ ...next, routes: broken })).rejects.toThrow(TypeError);
  expect(sources()).toEqual(['one']);
  await reload(next);
  expect(sources()).toEqual(['one', 'two']);
});
