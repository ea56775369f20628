import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { inFolder } from '../config/folder.ts';
import { sallyport } from './process.ts';

const yaml = `
public_url: http://gateway.test
listen: 127.0.0.1:0
admin: { listen: 127.0.0.1:0, token: "\${file:token}" }
routes:
  - { name: open, path: /, public: true, upstream: { url: "http://127.0.0.1:1" } }
`;
const [first, second] = ['Kx7-the-first-token-0123', 'Kx7-the-second-token-0123'];

describe.each(['1', '2'])('serve --workers %s', { timeout: 300_000 }, (workers) => {
  test('a renewed admin token is in force without a restart', async () => {
    await inFolder({ yaml: yaml, files: { token: first } }, async (folder) => {
      const gateway = sallyport(['serve', '--workers', workers], folder);
      const [, adminUrl = ''] = await gateway.says(/"admin":"(http:[^"]+)"/);
      // A proxy speaks for another machine: off loopback.
      const ask = async (headers: Record<string, string>): Promise<number> =>
        (await fetch(`${adminUrl}/console.json`, { headers: { 'x-forwarded-for': '192.0.2.1', ...headers } })).status;
      const bearer = (token: string) => ask({ authorization: `Bearer ${token}` });
      expect([await bearer(first), await ask({})]).toEqual([200, 401]);
      const { headers } = await fetch(`${adminUrl}/sign-in`, {
        method: 'POST',
        headers: { authorization: `Bearer ${first}`, origin: adminUrl },
      });
      const cookie = headers.get('set-cookie')?.split(';')[0] ?? '';
      expect(await ask({ cookie })).toBe(200);

      await writeFile(join(folder, 'token'), second);
      await gateway.says(/configuration reloaded/);
      expect([await bearer(second), await bearer(first), await ask({ cookie })]).toEqual([200, 401, 401]);
      expect(gateway.stdout()).not.toContain('admin.listen changed');

      gateway.signal('SIGTERM');
      expect(await gateway.ended).toBe(0);
      expect(gateway.stdout() + gateway.stderr()).not.toContain('Kx7');
    });
  });
});
