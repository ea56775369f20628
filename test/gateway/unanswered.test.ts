import { once } from 'node:events';
import { request } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import { startTestGateway } from '../support/gateway.ts';
import { startUpstream } from '../support/upstream.ts';

test('counts a client that leaves before its answer as 499', async () => {
  const { promise: reached, resolve: onReached } = Promise.withResolvers<void>();
  const upstream = await startUpstream(() => onReached());
  const gateway = await startTestGateway({
    yaml: `routes: [{ name: open, path: /, public: true, upstream: { url: ${upstream.url} } }]`,
    publicUrl: 'http://127.0.0.1',
  });
  onTestFinished(async () => {
    await gateway.close();
    await upstream.close();
  });
  const asked = request(gateway.url).end();
  await reached;
  const left = once(asked, 'error');
  asked.destroy();
  await left;
  const counted = 'sallyport_requests_total{route="open",method="GET",status="499"} 1';
  await expect.poll(() => gateway.metrics()).toContain(counted);
});
