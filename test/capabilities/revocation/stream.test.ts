import type { ServerResponse } from 'node:http';
import { describe, expect, test } from 'vitest';
import { caep, ssf, startTransmitter, type Transmitter, transmitterToken } from '../../support/transmitter.ts';
import { sample } from '../../support/gateway.ts';
import { forThisTest } from '../../support/start-before.ts';
import { type RevocationWorld, startRevocationWorld } from '../../worlds/revocation.ts';

let transmitter: Transmitter;

const poll = (issuer: string): string => `issuer: ${issuer}, subjects: main, token: '\${env:TRANSMITTER_TOKEN}'`;
const push = (issuer: string): string =>
  `issuer: ${issuer}, subjects: main, delivery: push, path: /events, authorization: Bearer pushed, token: '\${env:TRANSMITTER_TOKEN}'`;

async function start(source: (issuer: string) => string, prepare: (it: Transmitter) => void = () => {}) {
  transmitter = await startTransmitter();
  prepare(transmitter);
  return forThisTest(startRevocationWorld({ source, transmitter }));
}
const isUp = ({ gateway }: RevocationWorld): Promise<number> =>
  sample(gateway, 'sallyport_revocation_source_up{source="okta"}');
/** The same, once the source is up. */
async function connected(...parts: Parameters<typeof start>): Promise<RevocationWorld> {
  const world = await start(...parts);
  await expect.poll(() => isUp(world)).toBe(1);
  return world;
}
/** Offers an event that ends the sessions of a subject, until it was acknowledged or refused. */
const offer = async (subject: unknown, claims: Record<string, unknown> = {}): Promise<void> =>
  transmitter.offer(await transmitter.sign(`${caep}session-revoked`, subject, {}, { claims }));
const posts = (path: string) => transmitter.requests.filter((each) => each.method === 'POST' && each.path === path);
const stream = (more: object) => ({
  stream_id: 'theirs',
  iss: transmitter.url,
  aud: 'https://receiver.example',
  delivery: { method: 'urn:ietf:rfc:8936', endpoint_url: `${transmitter.url}/poll` },
  events_requested: [],
  status: 'enabled',
  ...more,
});

describe('R-326, RFC 8936 §2: poll', () => {
  test('makes a stream, verifies it, takes events and acknowledges them', async () => {
    const { gateway, token, send, person } = await connected(poll);
    expect(transmitter.streams).toHaveLength(1);
    expect(JSON.parse(posts('/streams')[0]?.body ?? '')).toMatchObject({
      delivery: { method: 'urn:ietf:rfc:8936' },
      description: 'Sallyport at http://gateway.test',
    });
    await gateway.line({ msg: 'revocation', event: 'verification' });
    const revoked = await token();
    // The audience of its stream is good too.
    await offer(person(), { jti: 'j1', aud: 'https://receiver.example' });
    expect(transmitter.acknowledged).toContain('j1');
    expect((await send('/api', { token: revoked })).status).toBe(401);
  });

  test('refuses an event by its code, and revokes nothing', async () => {
    const { token, send, person } = await start(poll);
    const good = await token();
    await offer(person(), { jti: 'bad', exp: 1 });
    expect(transmitter.errors.get('bad')).toMatchObject({ err: 'invalid_request' });
    expect(transmitter.acknowledged).not.toContain('bad');
    expect((await send('/api', { token: good })).status).toBe(200);
  });

  test('leaves an event where it is while the keys cannot be fetched', async () => {
    let areKeysGone = true;
    const { token, send, person, gateway } = await start(poll, (it) => {
      it.intercept = ({ url }, response) => areKeysGone && url === '/jwks' && Boolean(response.writeHead(500).end());
    });
    const revoked = await token();
    const settled = offer(person(), { jti: 'j2' });
    await gateway.line({ msg: 'a revocation event cannot be taken now' });
    expect(transmitter.acknowledged).not.toContain('j2');
    areKeysGone = false;
    await settled;
    expect(transmitter.acknowledged).toContain('j2');
    expect((await send('/api', { token: revoked })).status).toBe(401);
  });

  test('goes on after an outage, which a metric and the log say', async () => {
    const world = await connected(poll);
    const { gateway, token, send, person } = world;
    const { key, url } = transmitter;
    await transmitter.close();
    await gateway.line({ msg: 'a source of revocations is unavailable', source: 'okta' });
    expect(await isUp(world)).toBe(0);
    const good = await token();
    expect((await send('/api', { token: good })).status).toBe(200);
    transmitter = await forThisTest(startTransmitter(Number(new URL(url).port), key));
    await offer(person());
    expect((await send('/api', { token: good })).status).toBe(401);
    await expect.poll(() => isUp(world)).toBe(1);
  });
});

describe('the stream', () => {
  test('is used again after a restart, and a paused one is resumed', async () => {
    await connected(poll, ({ streams }) => {
      streams.push(stream({ stream_id: 'ours', description: 'Sallyport at http://gateway.test', status: 'paused' }));
      streams.push(stream({ stream_id: 'of-another', description: 'Another receiver' }));
    });
    expect(posts('/streams')).toEqual([]);
    expect(transmitter.streams.map(({ status }) => status)).toEqual(['enabled', 'enabled']);
    expect(transmitter.streams[0]?.events_requested).toContain(`${caep}session-revoked`);
    expect(transmitter.streams[1]?.events_requested).toEqual([]);
  });

  test('that exists is used as it is, by its id', async () => {
    const existing = (issuer: string): string => `${poll(issuer)}, stream: existing, stream_id: second`;
    const { gateway } = await start(existing, ({ streams }) => {
      streams.push(stream({ stream_id: 'first' }), stream({ stream_id: 'second', status: 'paused' }));
    });
    await gateway.line({ msg: 'a source of revocations is unavailable', problem: 'the stream is paused' });
    expect(transmitter.streams[1]?.status).toBe('paused');
    expect(posts('/streams')).toEqual([]);
  });

  test('is the only one of a transmitter that allows no second', async () => {
    await connected(poll, (it) => {
      it.hasOneStream = true;
      it.streams.push(stream({ description: 'made by hand' }));
    });
    expect(transmitter.streams).toHaveLength(1);
  });

  test.each([
    ['another iss', { iss: 'https://other.example' }],
    ['no id', { stream_id: undefined }],
  ])('with %s is not used', async (_, more) => {
    const { gateway } = await start(poll, ({ streams }) => {
      streams.push(stream({ description: 'Sallyport at http://gateway.test', ...more }));
    });
    await gateway.line({ msg: 'a source of revocations is unavailable' });
    expect(posts('/poll')).toEqual([]);
  });

  test('that the transmitter pauses is resumed at its event', async () => {
    await connected(poll);
    const [made] = transmitter.streams;
    if (made === undefined) throw new Error('no stream');
    made.status = 'paused';
    await transmitter.offer(
      await transmitter.sign(`${ssf}stream-updated`, { format: 'opaque', id: made.stream_id }, { status: 'paused' }),
    );
    await expect.poll(() => made.status).toBe('enabled');
  });

  test('for push names the address and the Authorization, and its verification arrives', async () => {
    const { push: pushed, person } = await connected(push);
    expect(transmitter.streams[0]?.delivery).toEqual({
      method: 'urn:ietf:rfc:8935',
      endpoint_url: 'http://gateway.test/events',
      authorization_header: 'Bearer pushed',
    });
    const { state } = JSON.parse(posts('/verify')[0]?.body ?? '{}') as { state: string };
    const verification = await transmitter.sign(`${ssf}verification`, { format: 'opaque', id: 's' }, { state });
    expect((await pushed(verification, { authorization: 'Bearer pushed' })).status).toBe(202);
    const event = await transmitter.sign(`${caep}session-revoked`, person());
    const refused = { status: 400, body: { err: 'authentication_failed' } };
    for (const how of [{ authorization: 'Bearer other' }, {}]) expect(await pushed(event, how)).toMatchObject(refused);
  });
});

describe('metadata', () => {
  test.each([
    ['of another issuer', { issuer: 'https://other.example' }, 'has another issuer'],
    ['without keys', { jwks_uri: undefined }, 'has no jwks_uri'],
    ['with an endpoint that is no URL', { configuration_endpoint: 'file:///etc/passwd' }, 'configuration_endpoint'],
  ])('%s are refused', async (_, metadata, problem) => {
    const { gateway } = await start(poll, (it) => Object.assign(it.metadata, metadata));
    const line = await gateway.line({ msg: 'a source of revocations is unavailable' });
    expect(line).toMatchObject({ problem: expect.stringContaining(problem) as string });
    expect(transmitter.requests.every(({ path }) => path.startsWith('/.well-known/'))).toBe(true);
  });

  test('name members of a subject that must be understood', async () => {
    const critical = { critical_subject_members: ['user', 'tenant'] };
    const { token, send, person } = await start(poll, (it) => Object.assign(it.metadata, critical));
    const good = await token();
    const subject = { format: 'complex', user: person(), tenant: { format: 'opaque', id: 't' } };
    await offer(subject, { jti: 'critical' });
    expect(transmitter.errors.get('critical')).toMatchObject({ err: 'invalid_request' });
    expect((await send('/api', { token: good })).status).toBe(200);
  });

  test.each<readonly [first: string, answer: (response: ServerResponse) => void]>([
    ['has none', (response) => void response.writeHead(404).end()],
    ['answers 503', (response) => void response.writeHead(503).end()],
    ['answers 403', (response) => void response.writeHead(403).end()],
    ['has a page', (response) => void response.end('<html>')],
    ['has those of another issuer', (response) => void response.end('{"issuer":"https://other.example"}')],
    ['breaks off', (response) => void response.destroy()],
  ])('are found where transmitters had them before SSF 1.0, if the first location %s', async (_, answer) => {
    const world = await connected(poll, (it) => {
      it.intercept = (request, response) => {
        if (request.url === '/.well-known/ssf-configuration') answer(response);
        else if (request.url === '/.well-known/risc-configuration') response.end(JSON.stringify(it.metadata));
        else return false;
        return true;
      };
    });
    expect(await isUp(world)).toBe(1);
  });
});

describe('an endpoint at another origin', () => {
  const elsewhere = (url: string): string => url.replace('127.0.0.1', 'localhost');
  const prepare = (it: Transmitter): unknown =>
    Object.assign(it.metadata, { configuration_endpoint: elsewhere(`${it.url}/streams`) });

  test('does not get the token, and the log names it', async () => {
    const { gateway } = await start(poll, prepare);
    const line = await gateway.line({ msg: 'a source of revocations is unavailable' });
    expect(line).toMatchObject({ problem: expect.stringContaining(elsewhere(transmitter.url)) as string });
    expect(transmitter.requests.filter(({ authorization }) => authorization !== undefined)).toEqual([]);
  });

  test('is used where endpoint_origins has it, and so is one for polls', async () => {
    const configured = (issuer: string): string => `${poll(issuer)}, endpoint_origins: ['${elsewhere(issuer)}']`;
    await connected(configured, prepare);
    expect(transmitter.streams).toHaveLength(1);
  });

  test('of a stream does not get the token either', async () => {
    const { gateway } = await start(poll, ({ streams, url }) => {
      const delivery = { method: 'urn:ietf:rfc:8936', endpoint_url: elsewhere(`${url}/poll`) };
      streams.push(stream({ description: 'Sallyport at http://gateway.test', delivery }));
    });
    await gateway.line({ msg: 'a source of revocations is unavailable' });
    expect(posts('/poll').filter(({ authorization }) => authorization !== undefined)).toEqual([]);
  });
});

describe('a push with a wrong credential', () => {
  const guess = (pushed: RevocationWorld['push'], authorization: string) => pushed('a SET', { authorization });

  test('is logged and counted, with the address', async () => {
    const world = await connected(push);
    expect(await guess(world.push, 'Bearer guess')).toMatchObject({
      status: 400,
      body: { err: 'authentication_failed' },
    });
    expect(await world.gateway.line({ msg: 'revocation', error: 'authentication_failed' })).toMatchObject({
      level: 'warn',
      source: 'okta',
      result: 'refused',
      address: '127.0.0.1',
    });
    const counted = 'sallyport_revocations_total{source="okta",event="other",result="refused"}';
    expect(await sample(world.gateway, counted)).toBe(1);
  });

  test('is a failure of its address: beyond the limit no credential is compared, not even the right one', async () => {
    transmitter = await startTransmitter();
    const yaml = 'limits: { failures: { requests: 3, per: 1h } }';
    const world = await forThisTest(startRevocationWorld({ source: push, transmitter, yaml }));
    const answers = [];
    for (const secret of ['a', 'b', 'c', 'd', 'pushed']) answers.push(await guess(world.push, `Bearer ${secret}`));
    expect(answers.map(({ status }) => status)).toEqual([400, 400, 400, 429, 429]);
    expect(await world.gateway.decision({ reason: 'failures.exceeded' })).toMatchObject({ allow: false });
  });

  test('does not count the right credential, however often it comes', async () => {
    transmitter = await startTransmitter();
    const yaml = 'limits: { failures: { requests: 1, per: 1h } }';
    const world = await forThisTest(startRevocationWorld({ source: push, transmitter, yaml }));
    for (const _ of [1, 2, 3]) {
      const set = await transmitter.sign(`${caep}session-revoked`, world.person());
      expect((await world.push(set, { authorization: 'Bearer pushed' })).status).toBe(202);
    }
  });
});

test('the token goes to the transmitter alone, and never into its metadata requests', async () => {
  await connected(poll);
  const open = transmitter.requests.filter(({ authorization }) => authorization === undefined).map(({ path }) => path);
  expect(new Set(open)).toEqual(
    new Set(['/.well-known/ssf-configuration', ...open.filter((path) => path === '/jwks')]),
  );
  expect(transmitter.requests.some(({ authorization }) => authorization === `Bearer ${transmitterToken}`)).toBe(true);
});
