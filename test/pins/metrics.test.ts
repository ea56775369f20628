import { expect, test } from 'vitest';
import { metricRows } from '../../src/capabilities/all.ts';
import { revocationMetrics } from '../../src/capabilities/revocation/metrics.ts';
import { createMetrics, createOwnMetrics } from '../../src/core/telemetry/metrics.ts';
import { createObserver } from '../../src/front-door/observer.ts';

/** What dashboards and alert rules name: metric, kind, labels. */
const pinned = [
  'sallyport_approval_notifications_lost_total counter event',
  'sallyport_approvals_total counter route,event',
  'sallyport_approvals_waiting gauge route',
  'sallyport_authorization_server_requests_total counter server,operation,result',
  'sallyport_config_info gauge hash',
  'sallyport_config_last_reload_successful gauge ',
  'sallyport_decision_duration_seconds histogram route',
  'sallyport_decisions_total counter route,decision,reason',
  'sallyport_locked_definitions_changed gauge route',
  'sallyport_log_checkpoints_total counter output',
  'sallyport_log_lines_lost_total counter output',
  'sallyport_open_streams gauge route',
  'sallyport_requests_total counter route,method,status',
  'sallyport_shared_store_requests_total counter operation,result',
  'sallyport_shared_store_up gauge ',
  'sallyport_telemetry_dropped_total counter signal',
  'sallyport_tls_certificate_expiry_timestamp_seconds gauge ',
  'sallyport_token_cache_total counter kind,result',
  'sallyport_tool_calls_total counter route,tool,decision',
  'sallyport_trace_spans_total counter result',
  'sallyport_upstream_calls gauge route',
  'sallyport_upstream_duration_seconds histogram route',
  'sallyport_upstream_queue gauge route',
];

test('R-169: metric names, kinds and labels', async () => {
  const { registry } = createMetrics(metricRows);
  const metrics = registry
    .getMetricsAsArray()
    .map((metric) => metric as typeof metric & { readonly labelNames: readonly string[] })
    .filter(({ name }) => name.startsWith('sallyport_'))
    .map(({ name, labelNames }) => ({ name, labelNames }));
  const kinds = new Map((await registry.getMetricsAsJSON()).map(({ name, type }) => [name, String(type)]));
  const rows = metrics.map(({ name, labelNames }) => `${name} ${kinds.get(name)} ${labelNames.join(',')}`);
  expect(rows.toSorted()).toEqual(pinned);
});

test('R-169: metric names, labels and log lines of the front door', async () => {
  const lines: unknown[] = [];
  const { observer, page } = createObserver({ event: (...line) => void lines.push(line) });
  observer.signIn('corporate', 'ok', {});
  observer.consent('approved', { client_id: 'a', scope: 'read' });
  observer.token('urn:ietf:params:oauth:grant-type:jwt-bearer', 'ok', {});
  observer.token('made up by a client', 'unsupported_grant_type', {});
  observer.registration('ok');
  observer.grantEnded('refresh_token.reused', { client_id: 'a', subject: 'b', first_used: undefined });
  const samples = (await page()).text.split('\n').filter((line) => line.startsWith('sallyport_'));
  expect(samples).toEqual([
    'sallyport_front_door_sign_ins_total{provider="corporate",result="ok"} 1',
    'sallyport_front_door_consents_total{result="approved"} 1',
    'sallyport_front_door_tokens_total{grant="jwt_bearer",result="ok"} 1',
    'sallyport_front_door_tokens_total{grant="other",result="unsupported_grant_type"} 1',
    'sallyport_front_door_registrations_total{result="ok"} 1',
    'sallyport_front_door_grants_ended_total{why="refresh_token.reused"} 1',
  ]);
  expect(lines).toEqual([
    ['info', 'front door sign-in', { provider: 'corporate', result: 'ok' }],
    ['info', 'front door consent', { result: 'approved', client_id: 'a', scope: 'read' }],
    ['debug', 'front door token', { grant: 'jwt_bearer', result: 'ok' }],
    ['info', 'front door token', { grant: 'other', result: 'unsupported_grant_type' }],
    ['info', 'front door registration', { result: 'ok' }],
    [
      'warn',
      'front door grant ended',
      { why: 'refresh_token.reused', client_id: 'a', subject: 'b', first_used: undefined },
    ],
  ]);
});

test('R-169: metric names and labels of revocation', async () => {
  const { meters, page } = createOwnMetrics(revocationMetrics);
  meters.add('sallyport_revocations_total', 1, 'okta', 'session-revoked', 'kept');
  meters.set('sallyport_revocation_source_up', 1, 'okta');
  meters.set('sallyport_revocations_kept', 3);
  meters.set('sallyport_revocation_room_used', 0.25, 'https://as.example');
  const samples = (await page()).text.split('\n').filter((line) => line.startsWith('sallyport_'));
  expect(samples).toEqual([
    'sallyport_revocations_total{source="okta",event="session-revoked",result="kept"} 1',
    'sallyport_revocations_kept 3',
    'sallyport_revocation_room_used{issuer="https://as.example"} 0.25',
    'sallyport_revocation_source_up{source="okta"} 1',
  ]);
});

test('has the metrics of Node too', () => {
  const names = createMetrics(metricRows)
    .registry.getMetricsAsArray()
    .map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(['process_resident_memory_bytes', 'nodejs_eventloop_lag_seconds']));
});
