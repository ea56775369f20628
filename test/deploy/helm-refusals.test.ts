import { describe, expect, test } from 'vitest';
import { config, frontDoor, good } from './chart-values.ts';
import { helm, runHelm } from './helm.ts';

describe.skipIf(helm === undefined)('the chart refuses', () => {
  const withConfig = (from: string | RegExp, to: string) => {
    const changed = config.replace(from, to);
    expect(changed).not.toBe(config);
    return { ...good, config: changed };
  };
  const withAdmin = (admin: string) => withConfig(/^admin:\n(?: .*\n)+/m, `${admin}\n`);
  test.for<readonly [string, unknown, string]>([
    ['an empty config', {}, 'config is empty: pass your gateway.yaml with --set-file config=gateway.yaml'],
    [
      'several replicas without a session key',
      { ...good, sessionKey: {} },
      'several replicas need the same session key',
    ],
    [
      'a shared store without a session key',
      { ...good, replicas: 1, sessionKey: {}, shared: { existingSecret: 'r' } },
      'needs the session key',
    ],
    ['a missing policy', { ...good, policies: {} }, 'route tools uses the policy tools, which is missing'],
    [
      'a secret in config',
      withConfig('#introspection', 'x: { client_secret: hunter2 }\n    #'),
      'config contains a secret',
    ],
    [
      'a quoted secret',
      withConfig('#session_key: ${env:SESSION_KEY}', 'session_key: "abc"'),
      'config contains a secret (session_key',
    ],
    [
      'a password in the URL of the store',
      withConfig(/^limits:/m, 'shared: redis://:pw@redis\nlimits:'),
      'config.shared contains a password',
    ],
    ['a loopback address', withConfig(/^listen: .*/m, 'listen: 127.0.0.1:8080'), 'config.listen is a loopback address'],
    ['another port', withConfig(/^listen: .*/m, 'listen: 0.0.0.0:9999'), 'config.listen is 0.0.0.0:9999, but its port'],
    ['a disabled admin listener', withAdmin('admin: off'), 'config.admin is off'],
    [
      'an admin listener on loopback',
      withAdmin('admin: { listen: "127.0.0.1:9090" }'),
      'config.admin is a loopback address',
    ],
    [
      'another port of the admin listener',
      withAdmin('admin: { listen: "0.0.0.0:1" }'),
      'config.admin is 0.0.0.0:1, but its port',
    ],
    [
      'an admin token in the text',
      withAdmin('admin: { listen: "0.0.0.0:9090", token: hunter2hunter2hunter2 }'),
      'config.admin.token is a secret',
    ],
    [
      'a Secret for an admin token that config does not use',
      { ...withAdmin('admin: 0.0.0.0:9090'), adminToken: { existingSecret: 'admin' } },
      'config.admin has no token',
    ],
    [
      'another folder of policies',
      withConfig(/^limits:/m, 'policies: /etc/policies\nlimits:'),
      'config.policies must be ./policies',
    ],
    [
      'a front door on loopback',
      { ...good, config: `${config}${frontDoor.replace('0.0.0.0', '127.0.0.1')}` },
      'config.front_door.listen is 127.0.0.1:8090, which its Service cannot reach: write 0.0.0.0:8090',
    ],
    [
      'several replicas of a front door without a store',
      { ...good, config: `${config}${frontDoor}` },
      'several replicas of a front door need one store',
    ],
    ['a config that is not YAML', { ...good, config: 'a: [' }, 'config is not YAML'],
    ['one line of JSON', { ...good, config: '{"routes": []}' }, 'does not look like a gateway.yaml'],
    ['a variable with two sources', { ...good, env: { SESSION_KEY: 'x' } }, 'SESSION_KEY is in env and in a Secret'],
    [
      'too little time to stop',
      { ...good, terminationGracePeriodSeconds: 15 },
      'terminationGracePeriodSeconds must be at least',
    ],
    ['an unknown key', { ...good, replicaCount: 3 }, 'replicaCount'],
  ])('%s', ([, values, message]) => {
    const { code, stdout, stderr } = runHelm(['template', 'gw'], values);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain(message);
    expect(stderr).not.toContain('hunter2');
  });
});
