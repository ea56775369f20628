import { describe, expect, test } from 'vitest';
import { refused, type Row, top } from './edits.ts';
import { base, loaded } from './folder.ts';

const telemetry = (members: string): string => top(`telemetry: { ${members} }`);

describe('telemetry', () => {
  test('is off by default', async () => {
    expect((await loaded({ yaml: base })).telemetry).toBeUndefined();
  });

  test('needs only the URL of the collector', async () => {
    const config = await loaded({ yaml: telemetry('otlp: http://collector:4318') });
    expect(config.telemetry).toEqual({
      otlp: 'http://collector:4318',
      serviceName: 'sallyport',
      sample: 1,
      headers: {},
    });
  });

  test('reads every key', async () => {
    const config = await loaded({
      yaml: telemetry(
        'otlp: https://collector.example/otlp/, service_name: edge, sample: 0.1, headers: { Authorization: "${env:KEY}" }',
      ),
      env: { KEY: 'Bearer s3cr3t' },
    });
    expect(config.telemetry).toEqual({
      otlp: 'https://collector.example/otlp',
      serviceName: 'edge',
      sample: 0.1,
      headers: { authorization: 'Bearer s3cr3t' },
    });
  });

  test.each([
    ['0', 0],
    ['1', 1],
    ['"${env:RATIO}"', 0.25],
    ['"${env:NONE:-0.5}"', 0.5],
  ])('sample: %s', async (written, sample) => {
    const config = await loaded({ yaml: telemetry(`otlp: http://c, sample: ${written}`), env: { RATIO: '0.25' } });
    expect(config.telemetry?.sample).toBe(sample);
  });
});

const sample = 'expected a number from 0 to 1, found';
const members = 'accepted: otlp, service_name, sample, headers';

describe('telemetry: refusals', () => {
  test.each<Row>([
    ['without a collector', telemetry('sample: 1'), ':13:12: telemetry: missing key: otlp'],
    ['with an unknown key', telemetry('otlp: http://c, ratio: 1'), `:13:30: telemetry.ratio: unknown key; ${members}`],
    [
      'with another protocol',
      telemetry('otlp: grpc://c:4317'),
      ':13:20: telemetry.otlp: "grpc://c:4317" is not an http(s) URL',
    ],
    [
      'with a query',
      telemetry('otlp: "http://c?key=1"'),
      ':13:20: telemetry.otlp: "http://c?…" has a query or fragment',
    ],
    [
      'with the path that the gateway appends',
      telemetry('otlp: http://c:4318/v1/traces'),
      ':13:20: telemetry.otlp: "http://c:4318/v1/traces" ends with /v1/traces, which the gateway appends itself; leave that out',
    ],
    ['with too much', telemetry('otlp: http://c, sample: 1.5'), `:13:38: telemetry.sample: ${sample} 1.5`],
    ['with less than nothing', telemetry('otlp: http://c, sample: -1'), `:13:38: telemetry.sample: ${sample} -1`],
    ['with no number', telemetry('otlp: http://c, sample: .nan'), `:13:38: telemetry.sample: ${sample} null`],
    [
      'with a sample in words',
      telemetry('otlp: http://c, sample: "10%"'),
      ':13:38: telemetry.sample: "10%" is not a number from 0 to 1',
    ],
    [
      'with a sample from a placeholder that is no number',
      telemetry('otlp: http://c, sample: "${env:SECRET}"'),
      ':13:38: telemetry.sample: "${env:SECRET}" is not a number from 0 to 1',
    ],
    [
      'with an empty name',
      telemetry('otlp: http://c, service_name: ""'),
      ':13:44: telemetry.service_name: must not be empty',
    ],
    [
      'with a header that the gateway sets itself',
      telemetry('otlp: http://c, headers: { Content-Length: "0" }'),
      ':13:41: telemetry.headers.Content-Length: is reserved: the gateway sets it itself',
    ],
    [
      'with a header twice',
      telemetry('otlp: http://c, headers: { a: "1", A: "2" }'),
      ':13:49: telemetry.headers.A: is given twice',
    ],
    [
      'with an invalid header name',
      telemetry('otlp: http://c, headers: { "a b": "1" }'),
      ':13:41: telemetry.headers["a b"]: the key is not a header name',
    ],
    [
      'with a value that breaks a line, which is not shown',
      telemetry('otlp: http://c, headers: { a: "hunter2\\r\\nb: 1" }'),
      ':13:44: telemetry.headers.a: the value is not a header value: use visible ASCII characters',
    ],
    [
      'with a number as a value, which is not shown',
      telemetry('otlp: http://c, headers: { a: 12345 }'),
      ':13:44: telemetry.headers.a: expected a string, found a number',
    ],
  ])('refuses telemetry %s', async (_title, yaml, ...lines) => {
    const found = await refused(yaml);
    expect(found).toEqual(lines);
    expect(found.join()).not.toContain('hunter2');
  });
});
