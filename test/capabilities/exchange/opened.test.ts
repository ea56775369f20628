import { expect, test } from 'vitest';
import { openExchange } from '../../../src/capabilities/exchange/opened.ts';
import { upstreamToken } from '../../../src/capabilities/exchange/slot.ts';
import type { Route } from '../../../src/core/model/route.ts';
import { quietParts, quietRoute } from '../../support/process-parts.ts';
import { bearer } from '../../support/bearer.ts';
import { startBeforeEach } from '../../support/start-before.ts';
import { exchangeWith, grantFor, issued, startTokenEndpointWorld } from '../../worlds/token-endpoint.ts';

const world = startBeforeEach(startTokenEndpointWorld);

function opened() {
  const inProcess = openExchange(quietParts);
  const exchange = exchangeWith({ server: world.client.server });
  const route = { slots: new Map([upstreamToken.with({ kind: 'exchange', exchange })]) } as unknown as Route;
  const clients = new Map([['main', world.client]]);
  const reload = () => {
    const config = inProcess.open({ config: { publicUrl: 'http://gateway.test', routes: [] }, clients, secret: '' });
    return config.of(route, quietRoute).credential;
  };
  return { inProcess, reload };
}

test('a credential outlives a reload, and is at once there', async () => {
  const { reload } = opened();
  const before = reload();
  const grant = grantFor({});
  await expect(before?.obtain(grant, bearer('t'))).resolves.toBe('Bearer for-t');
  expect(before?.obtain(grant, bearer('t'))).toBe('Bearer for-t');
  expect(reload()?.obtain(grant, bearer('t'))).toBe('Bearer for-t');
  expect(world.calls()).toHaveLength(1);
});

test('a credential of a caller is dropped where something about the caller changed', async () => {
  const { inProcess, reload } = opened();
  const credential = reload();
  inProcess.drop?.(() => true);
  for (const name of ['alice', 'bob']) await credential?.obtain(grantFor({ subject: name }), bearer(name));
  inProcess.drop?.(({ subject }) => subject === 'alice');
  world.answer = () => issued('again');
  expect(await credential?.obtain(grantFor({ subject: 'alice' }), bearer('alice'))).toBe('Bearer again');
  expect(await credential?.obtain(grantFor({ subject: 'bob' }), bearer('bob'))).toBe('Bearer for-bob');
});

test('a route without such a token has no source', () => {
  const { inProcess } = opened();
  const config = inProcess.open({
    config: { publicUrl: 'http://gateway.test', routes: [] },
    clients: new Map(),
    secret: '',
  });
  expect(config.of({ slots: undefined } as Route, quietRoute)).toEqual({});
});
