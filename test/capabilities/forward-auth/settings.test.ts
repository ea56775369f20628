import { describe, expect, test } from 'vitest';
import { forwardAuth } from '../../../src/capabilities/forward-auth/settings.ts';
import { refuses, top } from '../../serve/config/edits.ts';
import { base, loaded } from '../../serve/config/folder.ts';

describe('forward_auth', () => {
  refuses(`
top forward_auth: {} → :13:15: forward_auth: missing key: listen
top forward_auth: { listen: everywhere }
  :13:25: forward_auth.listen: "everywhere" is not an address such as 127.0.0.1:8080
top forward_auth: { listen: 127.0.0.1:8080 }
  :13:25: forward_auth.listen: forward_auth and listen cannot share an address
top forward_auth: { listen: 127.0.0.1:9090 }
  :13:25: forward_auth.listen: forward_auth and admin cannot share an address
top forward_auth: { listen: 127.0.0.1:8081, trusted: [proxy] }
  :13:51: forward_auth.trusted[0]: "proxy" is neither an address nor a network such as 10.0.0.0/8
`);

  test('is off by default, and trusts only this machine by default', async () => {
    expect(forwardAuth.of(await loaded({ yaml: base }))).toBeUndefined();
    expect(forwardAuth.of(await loaded({ yaml: top('forward_auth: { listen: 127.0.0.1:8081 }') }))).toEqual({
      listen: { host: '127.0.0.1', port: 8081 },
      trusted: ['127.0.0.0/8', '::1'],
    });
    const yaml = top('forward_auth: { listen: "${env:ASK}", trusted: ["${env:NET}"] }');
    const given = await loaded({ yaml, env: { ASK: '[::1]:8081', NET: '10.0.0.0/8' } });
    expect(forwardAuth.of(given)).toEqual({ listen: { host: '::1', port: 8081 }, trusted: ['10.0.0.0/8'] });
    const trusting = await loaded({ yaml: top('forward_auth: { listen: "[::1]:0", trusted: [] }') });
    expect(forwardAuth.of(trusting)).toMatchObject({ trusted: [] });
  });
});
