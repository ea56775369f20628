import { once } from 'node:events';
import { expect, onTestFinished, test } from 'vitest';
import { startTestGateway } from '../../support/gateway.ts';
import { connectTo } from '../../support/raw.ts';
import { startUpstream } from '../../support/upstream.ts';

test('RFC 9112 §9.6: a header section that ends after its 408 is not served', async () => {
  const upstream = await startUpstream();
  const gateway = await startTestGateway({
    yaml: `routes: [{ name: open, path: /, public: true, upstream: { url: ${upstream.url} } }]`,
    publicUrl: 'http://127.0.0.1',
  });
  onTestFinished(async () => {
    await gateway.close();
    await upstream.close();
  });
  const client = connectTo(gateway.url, () => client.write('GET /late HTTP/1.1\r\nHost: 127.0.0.1\r\n'));
  // As long as the gateway's patience lasts: fifteen seconds.
  const [answer] = (await once(client, 'data')) as [Buffer];
  expect(answer.toString()).toMatch(/^HTTP\/1\.1 408 /);
  client.end('\r\n');
  await once(client, 'close');
  expect((await gateway.decisions(1)).map(({ reason }) => reason)).toEqual(['request.timeout']);
  expect(upstream.seen).toEqual([]);
});
