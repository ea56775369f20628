import { describe, expect, test } from 'vitest';
import { inFolder } from '../config/folder.ts';
import { startCollector } from '../support/collector.ts';
import { startUpstream } from '../support/upstream.ts';
import { sallyport } from './process.ts';

/** Tells of every module of OpenTelemetry that is loaded, by whichever way. */
const watch = `
import { registerHooks } from 'node:module';
import { writeSync } from 'node:fs';
registerHooks({
  load(url, context, next) {
    const name = /node_modules\\/(@opentelemetry\\/[^/]+)/.exec(url)?.[1];
    if (name !== undefined) writeSync(2, 'loads ' + name + '\\n');
    return next(url, context);
  },
});`;
const env = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(watch)}` };

/** Which packages of OpenTelemetry a gateway had loaded when it had served one request and ended. */
async function loaded(telemetry: string): Promise<readonly string[]> {
  const upstream = await startUpstream();
  const yaml = `
public_url: http://gateway.test
listen: 127.0.0.1:0
admin: off
${telemetry}
routes:
  - { name: open, path: /, public: true, upstream: { url: "${upstream.url}" } }
`;
  try {
    return await inFolder({ yaml }, async (folder) => {
      const gateway = sallyport(['serve'], folder, { env });
      const [, url = ''] = await gateway.says(/"url":"(http:[^"]+)"/);
      expect((await fetch(url)).status).toBe(200);
      gateway.signal('SIGTERM');
      expect(await gateway.ended).toBe(0);
      return [...new Set([...gateway.stderr().matchAll(/^loads (\S+)$/gm)].map(([, name]) => name ?? ''))].toSorted();
    });
  } finally {
    await upstream.close();
  }
}

describe('OpenTelemetry', () => {
  test('is not loaded without traces, except for the API that prom-client uses', async () => {
    expect(await loaded('')).toEqual(['@opentelemetry/api']);
  });

  test('is loaded with traces, and the last spans are sent before the process ends', async () => {
    const collector = await startCollector();
    const packages = await loaded(`telemetry: { otlp: "${collector.url}" }`);
    expect(packages).toEqual(expect.arrayContaining(['@opentelemetry/sdk-trace']));
    expect(collector.spans.map(({ name }) => name)).toContain('GET /');
    await collector.close();
  });
});
