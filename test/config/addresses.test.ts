import { describe, expect, test } from 'vitest';
import { refused, top } from './edits.ts';
import { base, loaded } from './folder.ts';

describe('forward_auth', () => {
  test.each([
    ['without listen', top('forward_auth: {}'), ':13:15: forward_auth: missing key: listen'],
    [
      'at no address',
      top('forward_auth: { listen: everywhere }'),
      ':13:25: forward_auth.listen: "everywhere" is not an address such as 127.0.0.1:8080',
    ],
    [
      'where clients are served',
      top('forward_auth: { listen: 127.0.0.1:8080 }'),
      ':13:25: forward_auth.listen: forward_auth and listen cannot share an address',
    ],
    [
      'where operators are served',
      top('forward_auth: { listen: 127.0.0.1:9090 }'),
      ':13:25: forward_auth.listen: forward_auth and admin cannot share an address',
    ],
    [
      'that trusts what is no network',
      top('forward_auth: { listen: 127.0.0.1:8081, trusted: [proxy] }'),
      ':13:51: forward_auth.trusted[0]: "proxy" is neither an address nor a network such as 10.0.0.0/8',
    ],
  ])('refuses one %s', async (_title, yaml, ...lines) => {
    expect(await refused(yaml)).toEqual(lines);
  });

  test('is off by default, and trusts this machine unless it says otherwise', async () => {
    expect((await loaded({ yaml: base })).forwardAuth).toBeUndefined();
    expect((await loaded({ yaml: top('forward_auth: { listen: 127.0.0.1:8081 }') })).forwardAuth).toEqual({
      listen: { host: '127.0.0.1', port: 8081 },
      trusted: ['127.0.0.0/8', '::1'],
    });
    const yaml = top('forward_auth: { listen: "${env:ASK}", trusted: ["${env:NET}"] }');
    const { forwardAuth } = await loaded({ yaml, env: { ASK: '[::1]:8081', NET: '10.0.0.0/8' } });
    expect(forwardAuth).toEqual({ listen: { host: '::1', port: 8081 }, trusted: ['10.0.0.0/8'] });
    expect((await loaded({ yaml: top('forward_auth: { listen: "[::1]:0", trusted: [] }') })).forwardAuth).toMatchObject(
      {
        trusted: [],
      },
    );
  });
});
