import { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Denial } from '../../../src/core/model/denial.ts';
import { heldTogether } from '../../../src/core/model/gate.ts';
import type { CountedCall } from '../../../src/core/model/history.ts';
import { serve, type Gateway, type Stages } from '../../../src/core/gateway/pipeline.ts';
import { words } from '../../support/words.ts';

const arrived = { id: 'arrived' };
const call = { id: 'canonical' };
const route = { name: 'r' };
const principal = { subject: 'alice' };
const action = { attempt: { kind: 'http' }, messageId: 7 };
const grant = { decision: { allow: true, rule: 'scope', shadow: { reason: 'claim.denied', rule: 'scope' } } };
const request = {} as IncomingMessage;
const held = { token: 'token' };
const counted: CountedCall = {
  id: 'counted',
  settle() {},
  approval: undefined,
  shadow: undefined,
  settling: undefined,
};
const approved: CountedCall = { ...counted, id: 'approved', approval: 'approved' };
const granted = { call, grant, credential: 'credential', held, counted: heldTogether(approved, counted) };
/** The gates of the route. The pipeline knows none of them by name. */
const gates = words('lock approvals history decisions');
const head = Buffer.from('head');

/** The same call under a newer configuration. */
const newerRoute = { name: 'newer' };
const newerPrincipal = { subject: 'alice', scopes: ['read'] };
const newerAction = { attempt: { kind: 'http' }, messageId: 8 };

const answer = { status: 403, challenges: [] };

/** What each step gives back where nothing goes wrong. */
const results: Readonly<Record<string, unknown>> = {
  arrive: arrived,
  canonical: call,
  publish: false,
  preflight: false,
  token: 'token',
  authenticate: principal,
  readAction: action,
  authorize: grant,
  approvals: approved,
  history: counted,
  obtain: 'credential',
  hold: held,
  refuse: answer,
  'gateway.refuse': answer,
  'newer.token': 'token',
  'newer.accept': newerPrincipal,
  'newer.readAction': newerAction,
  'newer.authorize': grant,
  'newer.obtain': 'credential',
  'newer.hold': held,
  'newer.refuse': answer,
};

type Steps = Readonly<Record<string, ((...given: readonly unknown[]) => unknown) | undefined>>;

interface Circumstances {
  readonly upgrade?: Buffer | undefined;
  /** Its route in a configuration that came into force while the call was read. */
  readonly newer?: object;
  /** Whether the client has left. */
  readonly closed?: boolean;
}

/** Serves one call by steps that write down their names and what they were given; `other` steps do something else. */
async function served(other: Steps = {}, { upgrade, newer, closed = false }: Circumstances = {}) {
  const steps: [name: string, ...given: unknown[]][] = [];
  const step =
    (name: string) =>
    (...given: readonly unknown[]): unknown => {
      steps.push([name, ...given]);
      const act = other[name];
      return act === undefined ? results[name] : act(...given);
    };
  const all = (names: readonly string[], of = ''): object =>
    Object.fromEntries(names.map((name) => [name, step(`${of}${name}`)]));
  const stages = {
    route,
    ...all(words('allow preflight admit admitUpgrade token authenticate enter leave readAction authorize')),
    credential: { obtain: step('obtain') },
    ...all(words('limit').filter((name) => !(name in other) || other[name] !== undefined)),
    gates: gates.filter((name) => !(name in other) || other[name] !== undefined).map((name) => ({ enter: step(name) })),
    ...all(['hold', 'confirm', 'forward', 'forwardUpgrade', 'refuse']),
  } as unknown as Stages;
  const newerStages = {
    route: newer,
    ...all(
      words('allow admit admitUpgrade token accept readAction hold authorize confirm forward refuse leave'),
      'newer.',
    ),
    credential: { obtain: step('newer.obtain') },
    gates: [],
  } as unknown as Stages;
  const gateway = {
    ...all(['arrive', 'canonical', 'publish', 'record', 'answered', 'failed']),
    ...all(['refuse'], 'gateway.'),
    route: (routed: unknown) => step('route')(routed) ?? stages,
    newest: () =>
      newer === undefined ? gateway : { route: (routed: unknown) => step('newer.route')(routed) ?? newerStages },
  } as unknown as Gateway;
  const response = Object.assign(new EventEmitter(), { statusCode: 200, closed });
  await serve(gateway, request, response as unknown as ServerResponse, upgrade);
  const record = steps.find(([name]) => name === 'record')?.[1];
  return { steps, names: steps.map(([name]) => name), record, response };
}

const asked = { id: 'asked', url: '', expiresAt: 0, requestState: undefined };
const denial = new Denial('claim.denied', 'why', { rule: 'claims.role', approval: asked });
const refuses = (): never => {
  throw denial;
};
const whole = words(`
  arrive canonical publish route allow preflight admit token authenticate enter limit readAction hold authorize lock approvals
  history decisions obtain confirm record forward`);
const decided = {
  call,
  route,
  principal,
  attempt: action.attempt,
  rule: 'scope',
  shadow: grant.decision.shadow,
  approval: 'approved',
};

describe('each step gets the results of the steps before it', () => {
  test('and no step is left out', async () => {
    const { steps } = await served();
    expect(steps).toEqual([
      ['arrive', request, expect.anything()],
      ['canonical', arrived],
      ['publish', call],
      ['route', call],
      ['allow', call],
      ['preflight', call],
      ['admit', call],
      ['token', call],
      ['authenticate', 'token', call],
      ['enter', call, principal],
      ['limit', call, principal],
      ['readAction', call, principal],
      ['hold', 'token', call],
      ['authorize', principal, action],
      ...gates.map((name) => [name, call, grant]),
      ['obtain', grant, 'token'],
      ['confirm', { call, grant, held }],
      [
        'record',
        { ...decided, allow: true, denial: undefined, answer: undefined, decidedAt: expect.any(Number) as number },
      ],
      ['forward', granted],
    ]);
  });

  test('if a step is asynchronous', async () => {
    const asynchronous = words('authenticate readAction approvals history decisions obtain');
    const soon = asynchronous.map((name) => [name, () => Promise.resolve(results[name])] as const);
    const { names, steps } = await served(Object.fromEntries(soon));
    expect(names).toEqual(whole);
    expect(steps.find(([name]) => name === 'authorize')).toEqual(['authorize', principal, action]);
    expect(steps.at(-1)).toEqual(['forward', granted]);
  });

  test('forwards an upgrade with the bytes after its head', async () => {
    const { steps, names } = await served({}, { upgrade: head });
    const asUpgrade = whole.flatMap((name) => (name === 'admit' ? ['admit', 'admitUpgrade'] : name));
    expect(names).toEqual([...asUpgrade.slice(0, -1), 'forwardUpgrade']);
    expect(steps.find(([name]) => name === 'admitUpgrade')).toEqual(['admitUpgrade', call]);
    expect(steps.at(-1)).toEqual(['forwardUpgrade', granted, head, expect.any(Function) as unknown]);
  });

  test.each<[name: string, counted?: object]>([
    ['limit'],
    ['lock'],
    ['approvals', counted],
    ['history', approved],
    ['decisions'],
  ])('leaves out %s on a route without it', async (name, rest = granted.counted) => {
    const { names, steps } = await served({ [name]: undefined });
    expect(names).toEqual(whole.filter((step) => step !== name));
    expect(steps.at(-1)).toEqual(['forward', { ...granted, counted: rest }]);
  });

  test.each(['publish', 'preflight'])('runs no step after %s has answered', async (name) => {
    expect((await served({ [name]: () => true })).names).toEqual(whole.slice(0, whole.indexOf(name) + 1));
  });
});

describe('under a configuration that came into force while the call was read', () => {
  test('the newest one decides, and what it reads counts', async () => {
    const { steps, record } = await served({}, { newer: newerRoute });
    expect(steps.slice(whole.indexOf('readAction'))).toEqual([
      ['readAction', call, principal],
      ['newer.route', call],
      ['newer.allow', call],
      ['newer.admit', call],
      ['newer.token', call],
      ['newer.accept', principal, 'token', call],
      ['newer.readAction', call, newerPrincipal],
      ['newer.hold', 'token', call],
      ['newer.authorize', newerPrincipal, newerAction],
      ['newer.obtain', grant, 'token'],
      ['newer.confirm', { call, grant, held }],
      ['record', expect.anything()],
      ['newer.forward', { call, grant, credential: 'credential', held, counted: undefined }],
    ]);
    expect(record).toMatchObject({ route: newerRoute, principal: newerPrincipal, attempt: newerAction.attempt });
  });

  test('a body is read once', async () => {
    const read = { ...action, body: Buffer.from('{}') };
    const { steps, names } = await served({ readAction: () => read }, { newer: newerRoute });
    expect(names).not.toContain('newer.readAction');
    expect(steps.find(([name]) => name === 'newer.authorize')).toEqual(['newer.authorize', newerPrincipal, read]);
  });

  test.each([
    [head, ['newer.allow', 'newer.admit', 'newer.admitUpgrade', 'newer.token']],
    [undefined, ['newer.allow', 'newer.admit', 'newer.token', 'newer.accept']],
  ])('only an upgrade needs a route that serves it: %s', async (upgrade, expected) => {
    const { names } = await served({}, { upgrade, newer: newerRoute });
    const from = names.indexOf('newer.allow');
    expect(names.slice(from, from + expected.length)).toEqual(expected);
  });

  test.each([{ protocol: 'mcp' }, { isOwn: true }])('refuses a path that leads to another kind: %j', async (kind) => {
    const { steps, names } = await served({}, { newer: { ...newerRoute, ...kind } });
    expect(names.slice(-3)).toEqual(['newer.route', 'refuse', 'record']);
    const unknown: unknown = expect.objectContaining({
      reason: 'route.unknown',
      detail: 'its path leads elsewhere now',
    });
    expect(steps.at(-2)).toEqual(['refuse', call, unknown, action]);
  });
});

describe('a call that took long to arrive', () => {
  const now = performance.now.bind(performance);
  afterEach(() => {
    performance.now = now;
  });

  const servedAfter = async (ms: number, hold: unknown) => {
    performance.now = () => 50_000;
    return served({ canonical: () => ({ ...call, startedAt: 50_000 - ms }), hold: () => hold });
  };

  test.each([
    [30_000, 0],
    [30_001, 1],
  ])('has its token validated again only after more than 30 s: %d ms', async (ms, times) => {
    let validated = 0;
    const { names } = await servedAfter(ms, { ...held, revalidate: () => (validated += 1) });
    expect(validated).toBe(times);
    expect(names.at(-1)).toBe('forward');
  });

  test('needs none on a public route', async () => {
    expect((await servedAfter(30_001, undefined)).names.at(-1)).toBe('forward');
  });
});

describe('a call under way', () => {
  test('is counted until its response closes', async () => {
    const { steps, response } = await served({ enter: () => 'owner' });
    expect(steps.map(([name]) => name)).not.toContain('leave');
    response.emit('close');
    expect(steps.slice(-2)).toEqual([
      ['leave', 'owner'],
      ['answered', route, call, 499],
    ]);
  });

  test('is not counted if its client has left, nor counted no longer', async () => {
    const { steps, response } = await served({}, { closed: true });
    response.emit('close');
    const names = new Set(steps.map(([name]) => name));
    expect([names.has('enter'), names.has('leave')]).toEqual([false, false]);
  });
});

describe('SEP-414: records a call in the trace', () => {
  test.each([
    ['of its header, though its message names another', 'of the header', 'of the message', 'of the header'],
    ['of its message where no header names one', undefined, 'of the message', 'of the message'],
    ['of none', undefined, undefined, undefined],
  ])('%s', async (_, header, message, trace) => {
    const canonical = { ...call, trace: header };
    const { record } = await served({ canonical: () => canonical, readAction: () => ({ ...action, trace: message }) });
    expect(record).toHaveProperty('call', { ...call, trace });
  });

  test('without a copy of the call', async () => {
    expect(((await served()).record as { call: unknown }).call).toBe(call);
  });
});

test.each(whole.slice(1, whole.indexOf('record')))(
  'answers a refusal by %s, and records it once with its answer',
  async (name) => {
    const { steps, names } = await served({ [name]: refuses });
    const before = whole.slice(0, whole.indexOf(name) + 1);
    const isRouted = before.includes('allow');
    expect(names).toEqual([...before, isRouted ? 'refuse' : 'gateway.refuse', 'record']);
    const passed = (step: string): boolean => before.indexOf(step) !== -1 && step !== name;
    expect(steps.at(-1)).toEqual([
      'record',
      {
        call: passed('canonical') ? call : arrived,
        route: isRouted ? route : undefined,
        principal: passed('authenticate') ? principal : undefined,
        attempt: passed('readAction') ? action.attempt : undefined,
        allow: false,
        rule: 'claims.role',
        denial,
        answer,
        shadow: passed('authorize') ? grant.decision.shadow : undefined,
        approval: passed('approvals') ? 'approved' : asked.id,
        decidedAt: expect.any(Number) as number,
      },
    ]);
    expect(steps.at(-2)?.slice(1)).toEqual([
      passed('canonical') ? call : arrived,
      denial,
      passed('readAction') ? action : undefined,
    ]);
  },
);

test('records a refusal also if its answer fails', async () => {
  const records: unknown[] = [];
  const refuse = (): never => {
    throw new TypeError('a bug');
  };
  const plain = new Denial('claim.denied', 'why');
  const allow = (): never => {
    throw plain;
  };
  await expect(served({ allow, refuse, record: (outcome) => records.push(outcome) })).rejects.toThrow('a bug');
  expect(records).toEqual([expect.objectContaining({ denial: plain, answer: undefined, approval: undefined })]);
});

describe('records no second decision for an error after a call was allowed', () => {
  test.each(['forward'])('in %s', async (name) => {
    const { steps, names } = await served({ [name]: refuses });
    expect(names).toEqual([...whole.slice(0, whole.indexOf(name) + 1), 'failed', 'refuse']);
    expect(steps.at(-2)).toEqual(['failed', call, route, denial]);
    expect(steps.at(-1)).toEqual(['refuse', call, denial, action]);
  });

  test('at any time in an upgrade', async () => {
    const later = (...given: readonly unknown[]): unknown => (given.at(-1) as (denial: Denial) => void)(denial);
    for (const forwardUpgrade of [later, () => Promise.reject(denial)]) {
      const { names } = await served({ forwardUpgrade }, { upgrade: head });
      expect(names.slice(-3)).toEqual(['forwardUpgrade', 'failed', 'refuse']);
    }
  });
});

describe('a counted call', () => {
  const settled: unknown[] = [];
  const counts = { ...counted, settle: (...how: unknown[]) => settled.push(how) };
  beforeEach(() => settled.splice(0));

  test.each(['history', 'decisions', 'obtain', 'confirm', 'forward'])(
    'gives its part back if %s fails',
    async (name) => {
      const inTurn = (id: string): CountedCall => ({
        ...counts,
        id,
        settle: (...how) => settled.push([id, ...how.slice(0, 2)]),
      });
      await served({ approvals: () => inTurn('approval'), history: () => inTurn('count'), [name]: refuses });
      const given = name === 'history' ? ['approval'] : ['approval', 'count'];
      expect(settled).toEqual(given.map((id) => [id, 'unreached', 'the call did not reach the upstream']));
    },
  );

  test('gives its part back after it was forwarded, if nothing else settled it', async () => {
    await served({ history: () => counts, forward: () => void settled.push('forwarded') });
    expect(settled).toEqual(['forwarded', ['unreached', 'the call did not reach the upstream', 'counted']]);
  });

  test('has in the record the refusal that shadow mode did not enforce', async () => {
    const shadow = { reason: 'quota.exceeded', rule: 'quota[0]' };
    const allowed = { decision: { allow: true, rule: 'scope' } };
    const { record } = await served({ history: () => ({ ...counts, shadow }), authorize: () => allowed });
    expect(record).toMatchObject({ allow: true, rule: 'quota[0]', shadow });
  });

  test('has in the record the refusal of the policy first', async () => {
    const { record } = await served({ history: () => ({ ...counts, shadow: { reason: 'quota.exceeded' } }) });
    expect(record).toMatchObject({ shadow: grant.decision.shadow });
  });
});

test.each([
  ['before a route is known', 'canonical', arrived, undefined, 'gateway.refuse'],
  ['on a route', 'allow', call, route, 'refuse'],
])('answers a bug of the gateway without recording a decision: %s', async (_when, name, known, on, refusal) => {
  const cause = new TypeError('a bug');
  const { steps } = await served({
    [name]: () => {
      throw cause;
    },
  });
  const error = expect.objectContaining({ reason: 'gateway.error', cause }) as unknown;
  expect(steps.slice(-2)).toEqual([
    ['failed', known, on, error],
    [refusal, known, error, undefined],
  ]);
});

test.each([
  ['on its route', {}, route, call],
  ['on none', { canonical: refuses }, undefined, arrived],
])('reports the end of a call %s, with 499 before an answer', async (_where, other, ...of) => {
  const { steps, response } = await served(other);
  response.emit('close');
  expect(steps.at(-1)).toEqual(['answered', ...of, 499]);
  response.statusCode = 204;
  response.emit('close');
  expect(steps.at(-1)).toEqual(['answered', ...of, 204]);
});
