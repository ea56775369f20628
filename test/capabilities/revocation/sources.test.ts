import { revocationSettings } from '../../../src/capabilities/revocation/slot.ts';
import { loaded } from '../../serve/config/folder.ts';
import { expect, test } from 'vitest';
import { sample } from '../../support/gateway.ts';
import { caep, push } from '../../support/transmitter.ts';
import { startBeforeAll } from '../../support/start-before.ts';
import { startRevocationWorld } from '../../worlds/revocation.ts';

const world = startBeforeAll(() =>
  startRevocationWorld({
    source: (issuer) =>
      `issuer: ${issuer}, delivery: push, path: /events, subjects: second }
    twin: { issuer: ${issuer}, delivery: push, path: /twin, subjects: main`,
  }),
);

test('an event counts once for each source: two of one transmitter speak of different people', async () => {
  const token = await world.token({ sub: 'hana' });
  const set = await world.transmitter.sign(`${caep}session-revoked`, { format: 'opaque', id: 'hana' });
  expect((await world.push(set)).status).toBe(202);
  expect((await world.send('/api', { token })).status).toBe(200);
  expect((await push(`${world.gateway.url}/twin`, set)).status).toBe(202);
  expect((await world.send('/api', { token })).status).toBe(401);
  const kept = 'sallyport_revocations_total{source="twin",event="session-revoked",result="kept"}';
  expect(await sample(world.gateway, kept)).toBe(1);
});

test('an event may name a person by each issuer of the server, and by that of the transmitter', async () => {
  const yaml = `public_url: http://gateway.test
authorization_servers:
  entra:
    issuer: https://login.example/v2.0
    jwt: { algorithms: [RS256], issuers: ['https://sts.example/'] }
revocation: { events: { okta: { issuer: 'https://okta.example', token: t } } }
routes: [{ name: api, path: /api, audience: a, upstream: { url: 'http://127.0.0.1:1' } }]
`;
  const settings = revocationSettings.of(await loaded({ yaml }));
  expect(settings?.sources.get('okta')?.targets).toMatchObject([
    {
      issuers: ['https://login.example/v2.0', 'https://sts.example/', 'https://okta.example'],
      tokenIssuer: 'https://login.example/v2.0',
    },
  ]);
});
