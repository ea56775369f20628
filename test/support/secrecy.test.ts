import { expect, test } from 'vitest';
import { startTestGateway } from './gateway.ts';
import { isAdmin } from './secrecy.ts';

test('the port of an admin listener that has closed belongs to no gateway', async () => {
  const gateway = await startTestGateway({
    yaml: 'routes: [{ name: open, path: /, public: true, upstream: { url: "http://127.0.0.1:9" } }]',
  });
  const port = Number(new URL(gateway.adminUrl).port);
  expect(isAdmin(port)).toBe(true);
  await gateway.close();
  expect(isAdmin(port)).toBe(false);
});
