import { createServer } from 'node:http';
import { beforeEach, expect, test } from 'vitest';
import { listen } from '../../../demo/listen.ts';
import { createLogExport, type LogExport } from '../../../src/capabilities/traces/log-export.ts';
import { startTestGateway } from '../../support/gateway.ts';
import { startIssuer } from '../../support/issuer.ts';
import { forThisTest, startBeforeEach } from '../../support/start-before.ts';
import { startUpstream } from '../../support/upstream.ts';

interface LogRecord {
  readonly attributes: readonly { key: string; value: Record<string, unknown> }[];
  readonly [member: string]: unknown;
}

/** A collector of log records. `statuses` are its next answers; then 200. */
async function startLogCollector() {
  const records: LogRecord[] = [];
  const requests: { url: string | undefined; headers: Record<string, unknown>; body: unknown }[] = [];
  const statuses: number[] = [];
  const answers: string[] = [];
  const server = createServer((request, response) => {
    let text = '';
    request.on('data', (piece: Buffer) => (text += piece.toString()));
    request.on('end', () => {
      const body = JSON.parse(text) as { resourceLogs: { scopeLogs: { logRecords: LogRecord[] }[] }[] };
      requests.push({ url: request.url, headers: request.headers, body });
      const status = statuses.shift() ?? 200;
      if (status === 200) records.push(...(body.resourceLogs[0]?.scopeLogs[0]?.logRecords ?? []));
      response.writeHead(status).end(answers.shift() ?? '{}');
    });
  });
  return { ...(await listen(server, 0)), records, requests, statuses, answers };
}

const collector = startBeforeEach(startLogCollector);
let told: { dropped: number; readonly problems: (string | undefined)[] };
beforeEach(() => void (told = { dropped: 0, problems: [] }));

function exportTo(otlp: string): LogExport {
  return createLogExport(
    { otlp, serviceName: 'test', headers: { authorization: 'Bearer s3cr3t' } },
    { dropped: (count) => (told.dropped += count), collector: (problem) => void told.problems.push(problem) },
  );
}
const line = (members: object = {}): string =>
  JSON.stringify({ time: '2026-01-31T10:00:00.123Z', level: 'info', msg: 'decision', allow: true, ...members });
const spanId = '00f067aa0ba902b7';
const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';

test('R-354: a line is a record with its members, its trace and its severity', async () => {
  const logs = exportTo(collector.url);
  logs.add(
    line({ trace_id: traceId, subject: 'alice', duration_ms: 1.5, actors: ['a'], input: { lifetime: 60 } }),
    spanId,
  );
  logs.add(line({ allow: false, reason: 'scope.insufficient' }), undefined);
  await logs.close();
  expect(collector.requests).toMatchObject([
    { url: '/v1/logs', headers: { authorization: 'Bearer s3cr3t', 'content-type': 'application/json' } },
  ]);
  expect(collector.requests[0]?.body).toMatchObject({
    resourceLogs: [{ resource: { attributes: [{ key: 'service.name', value: { stringValue: 'test' } }] } }],
  });
  const [first, second] = collector.records;
  expect(first).toEqual({
    timeUnixNano: '1769853600123000000',
    observedTimeUnixNano: '1769853600123000000',
    severityNumber: 9,
    severityText: 'INFO',
    body: { stringValue: 'decision' },
    traceId,
    spanId,
    attributes: [
      { key: 'allow', value: { boolValue: true } },
      { key: 'trace_id', value: { stringValue: traceId } },
      { key: 'subject', value: { stringValue: 'alice' } },
      { key: 'duration_ms', value: { doubleValue: 1.5 } },
      { key: 'actors', value: { arrayValue: { values: [{ stringValue: 'a' }] } } },
      { key: 'input', value: { kvlistValue: { values: [{ key: 'lifetime', value: { intValue: '60' } }] } } },
    ],
  });
  expect(second).toMatchObject({ severityNumber: 13, severityText: 'WARN' });
  expect(told).toEqual({ dropped: 0, problems: [] });
});

test('a batch that the collector cannot take now is sent again, and one that it refuses is dropped', async () => {
  collector.statuses.push(503);
  const logs = exportTo(collector.url);
  logs.add(line(), undefined);
  await expect.poll(() => told, { timeout: 10_000 }).toEqual({ dropped: 0, problems: ['status 503', undefined] });
  expect(collector.records).toHaveLength(1);
  collector.statuses.push(400);
  logs.add(line(), undefined);
  await expect.poll(() => told.dropped, { timeout: 10_000 }).toBe(1);
  expect(told.problems.at(-1)).toBe('status 400');
  await logs.close();
});

test('what a collector rejects of a batch is counted', async () => {
  collector.answers.push('{"partialSuccess":{"rejectedLogRecords":"2"}}');
  const logs = exportTo(collector.url);
  for (let i = 0; i < 3; i += 1) logs.add(line(), undefined);
  await logs.close();
  expect(told.dropped).toBe(2);
});

test('what is full drops the newcomer, by number and by bytes, and closing ends in time', async () => {
  const silent = await forThisTest(
    listen(
      createServer(() => {}),
      0,
    ),
  );
  const many = exportTo(silent.url);
  for (let i = 0; i < 5_000; i += 1) many.add(line(), undefined);
  expect(told.dropped).toBe(5_000 - 4_096);
  const began = performance.now();
  await many.close();
  expect(performance.now() - began).toBeLessThan(4_000);
  expect(told.dropped).toBe(5_000);
  const long = exportTo(silent.url);
  for (let i = 0; i < 20; i += 1) long.add(line({ detail: 'x'.repeat(1024 * 1024) }), undefined);
  expect(told.dropped).toBe(5_005);
  await long.close();
});

test('R-354: a gateway sends every decision, whatever traces sample, and counts what it dropped', async () => {
  const issuer = await forThisTest(startIssuer());
  const upstream = await forThisTest(startUpstream((_request, response) => void response.end('{}')));
  const gateway = await forThisTest(
    startTestGateway({
      yaml: `
telemetry: { otlp: "${collector.url}", sample: 0, logs: true }
authorization_servers: { main: { issuer: ${issuer.url}, jwt: { algorithms: [RS256] } } }
routes: [{ name: api, path: /api, audience: r, upstream: { url: "${upstream.url}" } }]
`,
    }),
  );
  const authorization = `Bearer ${await issuer.sign({ sub: 'alice', aud: 'r' })}`;
  expect((await fetch(`${gateway.url}/api`, { headers: { authorization } })).status).toBe(200);
  expect((await fetch(`${gateway.url}/api`)).status).toBe(401);
  await expect.poll(() => collector.records.length, { timeout: 10_000 }).toBe(2);
  const textOf = ({ attributes }: LogRecord, key: string): unknown =>
    attributes.find((each) => each.key === key)?.value['stringValue'];
  const lines = await gateway.decisions(2);
  expect(collector.records.map((each) => textOf(each, 'decision'))).toEqual(lines.map(({ decision }) => decision));
  expect(collector.records.map((each) => each['severityText'])).toEqual(['INFO', 'WARN']);
  for (const record of collector.records) {
    expect(record).toMatchObject({
      traceId: textOf(record, 'trace_id'),
      spanId: expect.stringMatching(/^[0-9a-f]{16}$/),
    });
  }
  expect(await gateway.metrics()).not.toMatch(/^sallyport_telemetry_dropped_total\{.*\} [1-9]/m);
});
