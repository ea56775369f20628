import { describe, expect, test } from 'vitest';
import { refuses, top } from '../../serve/config/edits.ts';
import { base, loaded } from '../../serve/config/folder.ts';
import { telemetry as slot } from '../../../src/capabilities/traces/slot.ts';

const telemetry = (members: string): string => top(`telemetry: { ${members} }`);

describe('telemetry', () => {
  test('is off by default', async () => {
    expect(slot.of(await loaded({ yaml: base }))).toBeUndefined();
  });

  test('needs only the URL of the collector', async () => {
    const otlp = 'http://collector:4318';
    const config = await loaded({ yaml: telemetry(`otlp: ${otlp}`) });
    expect(slot.of(config)).toEqual({ otlp, serviceName: 'sallyport', sample: 1, logs: false, headers: {} });
  });

  test('reads every key', async () => {
    const others = 'service_name: edge, sample: 0.1, logs: true, headers: { Authorization: "${env:KEY}" }';
    const yaml = telemetry(`otlp: https://collector.example/otlp/, ${others}`);
    const config = await loaded({ yaml, env: { KEY: 'Bearer s3cr3t' } });
    expect(slot.of(config)).toEqual({
      otlp: 'https://collector.example/otlp',
      serviceName: 'edge',
      sample: 0.1,
      logs: true,
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
    expect(slot.of(config)?.sample).toBe(sample);
  });
});

describe('telemetry: refusals', () => {
  refuses(`
top telemetry: { sample: 1 } → :13:12: telemetry: missing key: otlp
top telemetry: { otlp: http://c, ratio: 1 }
  :13:30: telemetry.ratio: unknown key; accepted: …
top telemetry: { otlp: grpc://c:4317 } → :13:20: telemetry.otlp: "grpc://c:4317" is not an http(s) URL
top telemetry: { otlp: "http://c?key=1" } → :13:20: telemetry.otlp: "http://c?…" has a query or fragment
top telemetry: { otlp: http://c:4318/v1/traces }
  :13:20: telemetry.otlp: "http://c:4318/v1/traces" ends with /v1/traces, which the gateway appends itself; leave that out
top telemetry: { otlp: http://c/v1/logs }
  :13:20: telemetry.otlp: "http://c/v1/logs" ends with /v1/logs, which the gateway appends itself; leave that out
top telemetry: { otlp: http://c, sample: 1.5 } → :13:38: telemetry.sample: expected a number from 0 to 1, found 1.5
top telemetry: { otlp: http://c, sample: -1 } → :13:38: telemetry.sample: expected a number from 0 to 1, found -1
top telemetry: { otlp: http://c, sample: .nan } → :13:38: telemetry.sample: expected a number from 0 to 1, found null
top telemetry: { otlp: http://c, sample: "10%" } → :13:38: telemetry.sample: "10%" is not a number from 0 to 1
top telemetry: { otlp: http://c, sample: "\${env:SECRET}" }
  :13:38: telemetry.sample: "\${env:SECRET}" is not a number from 0 to 1
top telemetry: { otlp: http://c, service_name: "" } → :13:44: telemetry.service_name: must not be empty
top telemetry: { otlp: http://c, headers: { Content-Length: "0" } }
  :13:41: telemetry.headers.Content-Length: is reserved: the gateway sets it itself
top telemetry: { otlp: http://c, headers: { a: "1", A: "2" } } → :13:49: telemetry.headers.A: is given twice
top telemetry: { otlp: http://c, headers: { "a b": "1" } }
  :13:41: telemetry.headers["a b"]: the key is not a header name
top telemetry: { otlp: http://c, headers: { a: "hunter2\\r\\nb: 1" } }
  :13:44: telemetry.headers.a: the value is not a header value: use visible ASCII characters
top telemetry: { otlp: http://c, headers: { a: 12345 } }
  :13:44: telemetry.headers.a: expected a string, found a number
`);
});
