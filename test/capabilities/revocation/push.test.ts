import { describe, expect, test } from 'vitest';
import { caep, risc, ssf } from '../../support/transmitter.ts';
import { createKey } from '../../support/issuer.ts';
import { exchangeRaw } from '../../support/raw.ts';
import { startBeforeAll } from '../../support/start-before.ts';
import { startRevocationWorld } from '../../worlds/revocation.ts';
import { sample } from '../../support/gateway.ts';

const world = startBeforeAll(startRevocationWorld);

const now = (): number => Math.floor(Date.now() / 1000);
const api = async (token: string): Promise<number> => (await world.send('/api', { token })).status;
const counted = (event: string, result: string): Promise<number> =>
  sample(world.gateway, `sallyport_revocations_total{source="okta",event="${event}",result="${result}"}`);
let people = 0;
const newPerson = (): string => `person-${(people += 1)}`;

// security-event.test.ts has the events, and what each of them means.
test('R-317: an event that ends rights', async () => {
  const sub = newPerson();
  const [token, opaque] = [await world.token({ sub }), world.opaque({ sub, iat: now() })];
  expect([await api(token), await api(opaque)]).toEqual([200, 200]);
  expect(await world.event(`${caep}session-revoked`, world.person(sub))).toEqual({ status: 202, body: undefined });
  expect([await api(token), await api(opaque)]).toEqual([401, 401]);
  expect(await api(await world.token({ sub, iat: now() + 2 }))).toBe(200);
});

test('an event for the better drops what is cached, and refuses nothing', async () => {
  const sub = newPerson();
  const token = world.opaque({ sub, iat: now() });
  expect(await api(token)).toBe(200);
  const asked = world.issuer.requestsTo('/introspect').length;
  expect(await api(token)).toBe(200);
  expect(world.issuer.requestsTo('/introspect')).toHaveLength(asked);
  expect((await world.event(`${risc}account-enabled`, world.person(sub))).status).toBe(202);
  await expect
    .poll(async () => (await api(token)) === 200 && world.issuer.requestsTo('/introspect').length)
    .toBe(asked + 1);
});

describe('what a revocation refuses', () => {
  test('a token of the same second, and none that is issued later', async () => {
    const sub = newPerson();
    const at = now() - 10;
    const tokens = await Promise.all([at - 1, at, at + 1].map((iat) => world.token({ sub, iat })));
    await world.event(`${caep}session-revoked`, world.person(sub), { event_timestamp: at + 0.9 });
    expect(await Promise.all(tokens.map(api))).toEqual([401, 401, 200]);
  });

  test('a fraction of a second of a token counts as its second', async () => {
    const sub = newPerson();
    const at = now() - 10;
    await world.event(`${caep}session-revoked`, world.person(sub), { event_timestamp: at + 0.2 });
    expect(await api(await world.token({ sub, iat: at + 0.9 }))).toBe(401);
  });

  test('nothing that is issued after now, however late the event says it was', async () => {
    const sub = newPerson();
    await world.event(`${caep}session-revoked`, world.person(sub), { event_timestamp: now() + 1_000_000 });
    expect(await api(await world.token({ sub, iat: now() + 2 }))).toBe(200);
  });

  test('an opaque token without iat', async () => {
    const sub = newPerson();
    const token = world.opaque({ sub });
    expect(await api(token)).toBe(200);
    await world.event(`${caep}session-revoked`, world.person(sub));
    expect(await api(token)).toBe(401);
  });

  test('with a challenge that asks for a new token, and a reason in the log', async () => {
    const sub = newPerson();
    const token = await world.token({ sub });
    await world.event(`${caep}session-revoked`, world.person(sub));
    expect((await world.send('/api', { token })).challenge).toBe('Bearer error="invalid_token"');
    expect(await world.gateway.decision({ reason: 'token.revoked', subject: undefined })).toMatchObject({
      allow: false,
    });
  });

  test('the open streams of the subject within a second, and no others', async () => {
    const sub = newPerson();
    const [own, other] = [
      await world.stream(await world.token({ sub })),
      await world.stream(await world.token({ sub: newPerson() })),
    ];
    let isOtherOver = false;
    void other.over.then(() => (isOtherOver = true));
    const begun = performance.now();
    await world.event(`${caep}session-revoked`, world.person(sub));
    expect(await own.over).toBe('end');
    expect(performance.now() - begun).toBeLessThan(1_000);
    expect(isOtherOver).toBe(false);
    expect(await world.gateway.line({ msg: 'stream ended', reason: 'token.revoked' })).toBeDefined();
  });
});

test('R-318: refuses a JWT that is older than revocations are remembered, or does not say how old it is', async () => {
  expect(await api(await world.token({ iat: now() - 31 * 86_400 - 1 }))).toBe(401);
  expect(await world.gateway.decision({ reason: 'token.too_old' })).toBeDefined();
  expect(await api(await world.token({ iat: now() - 30 * 86_400 }))).toBe(200);
  expect(await api(await world.token({ iat: undefined }))).toBe(401);
  expect(await api(world.opaque({ iat: now() - 400 * 86_400 }))).toBe(200);
});

// subjects.test.ts has the subjects, and whom each of them names.
test('a subject inside the event, as before SSF 1.0', async () => {
  const sub = newPerson();
  const token = await world.token({ sub });
  const subject = { subject_type: 'iss-sub', iss: world.issuer.url, sub };
  const set = await world.transmitter.sign(`${risc}account-disabled`, undefined, { subject });
  expect((await world.push(set)).status).toBe(202);
  expect(await api(token)).toBe(401);
});

test('a subject by the iss of the transmitter is one of `subjects`', async () => {
  const sub = newPerson();
  const token = await world.token({ sub });
  const subject = { format: 'iss_sub', iss: world.transmitter.url, sub };
  expect((await world.event(`${caep}session-revoked`, subject)).status).toBe(202);
  expect(await api(token)).toBe(401);
});

test.each<[title: string, uri: string, subject: object, event: string]>([
  [
    'a subject of another issuer',
    `${caep}session-revoked`,
    { format: 'iss_sub', iss: 'https://elsewhere.example', sub: 'alice' },
    'session-revoked',
  ],
  ['an unknown format', `${risc}account-disabled`, { format: 'did', url: 'did:a:b' }, 'account-disabled'],
  ['an unknown event', 'https://example.com/event/unknown', { format: 'opaque', id: 'alice' }, 'other'],
])('%s is acknowledged, revokes nothing, and is a warning', async (title, uri, subject, event) => {
  const token = await world.token();
  const before = await counted(event, 'not_understood');
  const set = await world.transmitter.sign(uri, subject, {}, { claims: { jti: title } });
  expect(await world.push(set)).toEqual({ status: 202, body: undefined });
  expect(await counted(event, 'not_understood')).toBe(before + 1);
  expect(await world.gateway.line({ msg: 'revocation', jti: title })).toMatchObject({
    level: 'warn',
    event,
    result: 'not_understood',
  });
  expect(await api(token)).toBe(200);
});

test.each<[title: string, uri: string, subject?: object]>([
  ['an event that changes no rights', `${caep}session-established`],
  [
    'an event for the better about a person of another issuer',
    `${risc}account-enabled`,
    { format: 'iss_sub', iss: 'https://elsewhere.example', sub: 'alice' },
  ],
])('%s is no warning', async (title, uri, subject = world.person()) => {
  const set = await world.transmitter.sign(uri, subject, {}, { claims: { jti: title } });
  expect((await world.push(set)).status).toBe(202);
  const line = await world.gateway.line({ msg: 'revocation', jti: title });
  expect(line).toMatchObject({ level: 'info', result: 'ignored' });
});

describe('R-319, RFC 8417 §2.2, RFC 8935 §2.4: a SET that is refused', () => {
  const event = (options: Parameters<typeof world.transmitter.sign>[3], subject: unknown = world.person()) =>
    world.transmitter.sign(`${caep}session-revoked`, subject, {}, options);
  const about = (uri: string, payload: object) => world.transmitter.sign(uri, world.person(), { ...payload });
  // test/capabilities/revocation/security-event.test.ts has the table of what a SET may lack.
  const cases: readonly (readonly [string, string, () => Promise<string>])[] = [
    ['a subject without format', 'invalid_request', () => event({}, { sub: 'alice' })],
    ['a time that is no number', 'invalid_request', () => about(`${caep}session-revoked`, { event_timestamp: '1' })],
    ['an unknown change', 'invalid_request', () => about(`${caep}credential-change`, { change_type: 'forget' })],
    ['another state', 'invalid_state', () => about(`${ssf}verification`, { state: 'x.y' })],
    [
      'a state as long as ours, and of letters of two bytes',
      'invalid_state',
      () => about(`${ssf}verification`, { state: `x.${'é'.repeat(43)}` }),
    ],
  ];

  test.each(cases)('has %s: %s', async (_, code, set) => {
    const token = await world.token();
    const result = await world.push(await set());
    expect(result).toMatchObject({ status: 400, body: { err: code } });
    expect(Object.keys(result.body ?? {})).toEqual(['err', 'description']);
    expect(await api(token)).toBe(200);
  });

  test('uses up no jti', async () => {
    const sub = newPerson();
    const token = await world.token({ sub });
    const claims = { jti: 'a-jti-that-is-forged-first' };
    const forged = await event({ key: await createKey('t1'), claims }, world.person(sub));
    expect((await world.push(forged)).status).toBe(400);
    expect((await world.push(await event({ claims }, world.person(sub)))).status).toBe(202);
    expect(await api(token)).toBe(401);
  });

  test('is counted and logged', async () => {
    await world.push('hello');
    const refusal = { msg: 'revocation', result: 'refused', error: 'invalid_request' };
    expect(await world.gateway.line(refusal)).toMatchObject({ source: 'okta', level: 'warn' });
    expect(await counted('other', 'refused')).toBeGreaterThan(0);
  });
});

test('a repeated event is answered as the first, and changes nothing', async () => {
  const sub = newPerson();
  const set = await world.transmitter.sign(`${caep}session-revoked`, world.person(sub));
  for (const _ of [1, 2]) expect((await world.push(set)).status).toBe(202);
  expect(await counted('session-revoked', 'repeated')).toBe(1);
});

test('an event about the stream is acknowledged', async () => {
  const stream = { format: 'opaque', id: 's' };
  for (const [uri, event] of [[`${ssf}stream-updated`, { status: 'paused' }], [`${ssf}verification`]] as const)
    expect((await world.event(uri, stream, event)).status).toBe(202);
});

test('a push has at most 64 KiB, is a POST, and has the media type of a SET', async () => {
  const set = await world.transmitter.sign(`${caep}session-revoked`, world.person());
  const untyped = await world.push(set, { type: 'application/json' });
  expect(untyped).toMatchObject({ status: 400, body: { err: 'invalid_request' } });
  expect(await world.push('x'.repeat(70_000))).toMatchObject({ status: 400, body: { err: 'invalid_request' } });
  expect((await world.send('/events')).status).toBe(405);
});

test('a push under another Host is refused, as on every route', async () => {
  const set = await world.transmitter.sign(`${caep}session-revoked`, world.person());
  const answer = await exchangeRaw(
    world.gateway.url,
    [
      'POST /events HTTP/1.1',
      'Host: attacker.example',
      'Content-Type: application/secevent+jwt',
      `Content-Length: ${set.length}`,
      'Connection: close',
      '',
      set,
    ].join('\r\n'),
  );
  expect(answer).toMatch(/^HTTP\/1\.1 403 /);
  expect(await world.gateway.decision({ reason: 'request.host' })).toMatchObject({ allow: false });
});
