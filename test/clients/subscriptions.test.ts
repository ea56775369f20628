/**
 * The long stream of the stateless revision, `subscriptions/listen`, ends with its token as well.
 *
 * @module
 */

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { expect, test } from 'vitest';

import { createRecorder, type Seen } from '../../demo/walk/recorder.ts';
import { signedInAgent } from './agent.ts';
import { sdkV2Auto } from './official-clients.ts';
import { preRegistered } from './pre-registered.ts';
import { startDemoBeforeAll } from '../worlds/demo.ts';

const { world } = startDemoBeforeAll({ authorizationServer: { accessTokenTtl: 3 } });

const wish = { toolsListChanged: true };

function listens({ sent }: Seen): boolean {
  return sent?.includes('"subscriptions/listen"') === true;
}

test('a client receives the end of its subscription, and can listen again with a new token', async () => {
  const oauth = preRegistered(world().issuer);
  await (await signedInAgent(sdkV2Auto, world().mcpUrl, { oauth })).close();
  const recorder = createRecorder();
  const client = new Client({ name: 'listener', version: '1.0.0' }, { versionNegotiation: { mode: 'auto' } });
  await client.connect(
    new StreamableHTTPClientTransport(world().mcpUrl, { authProvider: oauth, fetch: recorder.fetch }),
  );

  const subscription = await client.listen(wish);
  expect(subscription.honoredFilter).toEqual(wish);
  expect(await subscription.closed).toBe('graceful');
  const again = await client.listen(wish);
  expect(
    recorder
      .take()
      .filter(listens)
      .map(({ status }) => status),
  ).toEqual([200, 401, 200]);
  await again.close();
  await client.close();
});
