import { expect, test } from 'vitest';
import { readTraceContext } from '../../src/core/lib/http/trace-context.ts';
import { Denial } from '../../src/core/model/denial.ts';
import type { Outcome } from '../../src/core/model/outcome.ts';
import type { Policy } from '../../src/core/model/policy.ts';
import type { Route } from '../../src/core/model/route.ts';
import { call as toolCall } from '../core/policy/caller.ts';
import { linesOf } from '../core/telemetry/lines-of.ts';

const policyDenial = {
  reason: 'scope.insufficient',
  detail: 'd',
  scope: ['read', 'payments'],
  rule: 'tools.pay',
} as const;

const details = {
  paths: true,
  addresses: true,
  claims: [{ name: 'email', read: () => 'a@example.com' }],
  arguments: undefined,
};

/** An outcome with everything that a line can have. */
const everything: Outcome = {
  call: {
    decision: 'decision-id',
    id: 'request-id',
    method: 'POST',
    startedAt: 1,
    path: '/orders/1',
    client: '192.0.2.7',
    trace: readTraceContext('00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01', 'a=1'),
  },
  route: {
    name: 'tools',
    protocol: 'http',
    policy: {
      name: 'tools-policy',
      revision: 'tools-policy@0123456789ab',
      claimsRead: () => ({ tenant: 'acme' }),
      innerCalls: () => [toolCall('x'.repeat(129), {}), toolCall('search', {})],
    } as unknown as Policy,
  } as Route,
  principal: {
    issuer: 'https://as.example',
    subject: 'alice',
    clientId: 'agent',
    actors: [
      { issuer: 'https://as.example', subject: 'a'.repeat(129) },
      { issuer: 'https://as.example', subject: 'b' },
    ],
    callerKey: undefined,
    grantedScopes: ['read'],
    scopes: new Set(['read']),
    audience: ['a'],
    expiresAt: undefined,
    issuedAt: undefined,
    form: 'opaque',
    confirmation: undefined,
    introspectionJwt: undefined,
    claims: { scope: 'read', secret: 'never' },
  },
  attempt: toolCall('pay', {}),
  allow: false,
  rule: 'tools.pay',
  denial: new Denial('scope.insufficient', 'd', policyDenial),
  shadow: undefined,
  approval: 'approval-id',
  answer: { status: 403, challenges: ['Bearer error="insufficient_scope", scope="read payments"'] },
  details,
  decidedAt: 2.5,
};

function line(outcome: Outcome): Record<string, unknown> {
  const [text = ''] = linesOf((log) => log.decided(outcome));
  return JSON.parse(text) as Record<string, unknown>;
}

test('R-168: the members of a denial, in order', () => {
  expect(line(everything)).toEqual({
    time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    level: 'info',
    msg: 'decision',
    decision: 'decision-id',
    request_id: 'request-id',
    address: '192.0.2.7',
    path: '/orders/1',
    route: 'tools',
    allow: false,
    reason: 'scope.insufficient',
    detail: 'd',
    subject: 'alice',
    client_id: 'agent',
    issuer: 'https://as.example',
    actors: ['a'.repeat(128), 'b'],
    method: 'tools/call',
    tool: 'pay',
    inner: ['x'.repeat(128), 'search'],
    scope: 'read',
    needed_scope: 'read payments',
    policy: 'tools-policy@0123456789ab',
    rule: 'tools.pay',
    input: { claims: { tenant: 'acme' }, omitted: ['act'] },
    claims: { email: 'a@example.com' },
    duration_ms: 1.5,
    approval: 'approval-id',
    trace_id: '4bf92f3577b34da6a3ce929d0e0e4736',
  });
  expect(Object.keys(line(everything)).join(' ')).toBe(
    'time level msg decision request_id address path route allow reason detail subject client_id issuer actors method tool inner scope needed_scope policy rule input claims duration_ms approval trace_id',
  );
});

test('R-352: the members of arguments, where they are listed', () => {
  const shown = { show: [{ pointer: '/to', read: () => 'bob' }], digest: true };
  const { arguments: shownArguments, arguments_digest: digest } = line({
    ...everything,
    details: { ...details, arguments: shown },
  });
  expect([shownArguments, digest]).toEqual([{ '/to': 'bob' }, expect.stringMatching(/^[\w-]{43}$/)]);
});

test('R-87: marks what shadow mode allows, with the reason that would have refused it', () => {
  const shadowed = line({ ...everything, allow: true, denial: undefined, shadow: policyDenial });
  expect(shadowed).toMatchObject({
    allow: true,
    shadow: true,
    reason: 'scope.insufficient',
    needed_scope: 'read payments',
  });
  expect(Object.keys(shadowed).slice(8, 11)).toEqual(['allow', 'shadow', 'reason']);
});

test('leaves out unknown members', () => {
  const call = { ...everything.call, trace: undefined };
  const early = {
    call,
    approval: undefined,
    route: undefined,
    principal: undefined,
    attempt: undefined,
    rule: undefined,
  };
  expect(Object.keys(line({ ...everything, ...early, denial: new Denial('route.unknown', 'd') })).join(' ')).toBe(
    'time level msg decision request_id address allow reason detail method duration_ms',
  );
});

test('R-251: the members of the line for a call that gave its part back, only where allowed calls are logged', () => {
  const { call, route } = everything;
  const lines = linesOf((log) => {
    const settled = (): void => log.returned(call, route as Route, 'the upstream answered 500');
    settled();
    log.configure({ level: 'info', decisions: 'denials' });
    settled();
    log.configure({ level: 'warn', decisions: 'all' });
    settled();
  });
  expect(lines).toHaveLength(1);
  expect(Object.entries(JSON.parse(lines[0] ?? '') as object)).toEqual([
    ['time', expect.stringMatching(/^\d{4}-\d\d-\d\dT/)],
    ['level', 'info'],
    ['msg', 'settled'],
    ['decision', 'decision-id'],
    ['request_id', 'request-id'],
    ['route', 'tools'],
    ['detail', 'the upstream answered 500'],
  ]);
});
