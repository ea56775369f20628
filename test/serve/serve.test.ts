import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { createServer as createHttpServer } from 'node:http';
import { describe, expect, test } from 'vitest';
import { edited, inFolder } from '../config/folder.ts';
import { outcome, sallyport } from './process.ts';

/** Public routes alone: no authorization server is needed. */
const open = (upstream: string, listen = '127.0.0.1:0', admin = '127.0.0.1:0'): string => `
public_url: http://gateway.test
listen: ${listen}
admin: ${admin}
routes:
  - { name: open, path: /, public: true, upstream: { url: "${upstream}" } }
`;

const listening = /"url":"(http:[^"]+)"/;

describe('serve', () => {
  test.each(['SIGTERM', 'SIGINT'] as const)('R-171: serves until %s, then exits with 0', async (signal) => {
    const upstream = createHttpServer((_request, response) => void response.end('hello')).listen(0, '127.0.0.1');
    await once(upstream, 'listening');
    const { port } = upstream.address() as AddressInfo;
    await inFolder({ yaml: open(`http://127.0.0.1:${port}`) }, async (folder) => {
      const gateway = sallyport(['serve'], folder);
      const [, url] = await gateway.says(listening);
      expect(await (await fetch(url ?? '')).text()).toBe('hello');
      gateway.signal(signal);
      expect(await gateway.ended).toBe(0);
      expect(gateway.stderr()).toBe('');
    });
    upstream.close();
  });

  test('does not wait for a stream after a second signal', async () => {
    const upstream = createHttpServer((_request, response) => void response.writeHead(200).write('hello')).listen(
      0,
      '127.0.0.1',
    );
    await once(upstream, 'listening');
    const { port } = upstream.address() as AddressInfo;
    await inFolder({ yaml: open(`http://127.0.0.1:${port}`) }, async (folder) => {
      const gateway = sallyport(['serve', '--config', 'gateway.yaml'], folder);
      const [, url] = await gateway.says(listening);
      const reader = (await fetch(url ?? '')).body?.getReader();
      await reader?.read();
      gateway.signal('SIGTERM');
      const refused = async (): Promise<boolean> =>
        fetch(url ?? '').then(
          () => false,
          () => true,
        );
      while (!(await refused()));
      gateway.signal('SIGTERM');
      expect(await gateway.ended).toBe(1);
      await reader?.cancel().catch(() => undefined);
    });
    upstream.closeAllConnections();
    upstream.close();
  });

  test.each(['listen', 'admin'])('reports in one line that its %s port is in use', async (key) => {
    const squatter = createServer().listen(0, '127.0.0.1');
    await once(squatter, 'listening');
    const taken = `127.0.0.1:${(squatter.address() as AddressInfo).port}`;
    const yaml = key === 'listen' ? open('http://127.0.0.1:1', taken) : open('http://127.0.0.1:1', undefined, taken);
    await inFolder({ yaml }, async (folder) => {
      expect(await outcome(['serve'], folder)).toEqual({
        code: 1,
        stdout: '',
        stderr: `${taken} is in use: stop the process that listens there, or change listen or admin in the configuration\n`,
      });
    });
    squatter.close();
  });

  test.each([
    ['192.0.2.1:8080', /^192\.0\.2\.1:8080 is not an address of this machine\n$/],
    ['gateway.invalid:8080', /^gateway\.invalid cannot be resolved to an address \(E\w+\)\n$/],
  ])('says in one line that it cannot listen on %s', async (listen, line) => {
    await inFolder({ yaml: open('http://127.0.0.1:1', listen) }, async (folder) => {
      const { code, stdout, stderr } = await outcome(['serve'], folder);
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
      expect(stderr).toMatch(line);
    });
  });

  test('refuses a configuration with a problem as check does', async () => {
    await inFolder({ yaml: edited(['/api\n', 'api\n']) }, async (folder) => {
      const refused = await outcome(['check'], folder);
      expect(refused.stderr).toBe(
        'gateway.yaml:9:11: routes[0].path: "api" does not start with /; write "/api"\ngateway.yaml: 1 problem\n',
      );
      expect(await outcome(['serve'], folder)).toEqual(refused);
    });
  });
});
