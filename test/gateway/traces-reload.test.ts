import { expect, test } from 'vitest';
import { startCollector } from '../support/collector.ts';
import { startEditedGateway } from '../support/edited-gateway.ts';
import { startUpstream } from '../support/upstream.ts';

test('keeps tracing after an edit, and logs that another collector needs a restart', async () => {
  const collector = await startCollector();
  const upstream = await startUpstream();
  const yaml = (telemetry: string, name: string): string =>
    `${telemetry}\nroutes:\n  - { name: ${name}, path: /, public: true, upstream: { url: "${upstream.url}" } }\n`;
  const telemetry = `telemetry: { otlp: "${collector.url}" }`;
  const gateway = await startEditedGateway(yaml(telemetry, 'a'), {});
  const ofRoute = (name: string) => (all: typeof collector.spans) =>
    all.some(({ kind, attributes }) => kind === 'server' && attributes['sallyport.route'] === name);

  await gateway.save('gateway.yaml', yaml(telemetry, 'b'));
  await fetch(gateway.url);
  await collector.until((all) => ofRoute('b')([...all]));
  const warned = async (): Promise<boolean> =>
    (await gateway.lines()).some(({ msg }) => String(msg).startsWith('telemetry changed: a restart'));
  expect(await warned()).toBe(false);

  await gateway.save('gateway.yaml', yaml('', 'c'));
  expect(await warned()).toBe(true);
  await fetch(gateway.url);
  await collector.until((all) => ofRoute('c')([...all]));
  await gateway.close();
  await Promise.all([collector.close(), upstream.close()]);
});
