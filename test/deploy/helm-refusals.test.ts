import { describe, expect, test } from 'vitest';
import { config, good } from './chart-values.ts';
import { helm, runHelm } from './helm.ts';

describe.skipIf(helm === undefined)('what it refuses', () => {
  const withConfig = (from: string | RegExp, to: string) => ({ ...good, config: config.replace(from, to) });
  const withAdmin = (admin: string) => withConfig(/^admin:\n(?: .*\n)+/m, `${admin}\n`);
  test.for<readonly [string, unknown, string]>([
    ['nothing', {}, 'config is empty: give it your gateway.yaml, --set-file config=gateway.yaml'],
    ['replicas without a key', { ...good, sessionKey: {} }, 'several replicas need one session key'],
    [
      'that may become several',
      { ...good, replicas: 1, autoscaling: { enabled: true }, sessionKey: {} },
      'several rep',
    ],
    [
      'a store without a key',
      { ...good, replicas: 1, sessionKey: {}, shared: { existingSecret: 'r' } },
      'by the session',
    ],
    ['a missing policy', { ...good, policies: {} }, 'route tools wants the policy tools, which is not there'],
    ['a secret', withConfig('# introspection', 'x: { client_secret: hunter2 }\n    #'), 'config has a secret in it'],
    [
      'a quoted one',
      withConfig('# session_key: ${env:SESSION_KEY}', 'session_key: "abc"'),
      'config has a secret in it (session_key',
    ],
    ['a password', withConfig(/^limits:/m, 'shared: redis://:pw@redis\nlimits:'), 'config.shared has a password in it'],
    ['loopback', withConfig(/^listen: .*/m, 'listen: 127.0.0.1:8080'), 'config.listen is a loopback address'],
    ['another port', withConfig(/^listen: .*/m, 'listen: 0.0.0.0:9999'), 'config.listen is 0.0.0.0:9999, but in ports'],
    ['no admin', withAdmin('admin: off'), 'config.admin is off'],
    ['no admin, in a mapping', withAdmin('admin: { listen: off }'), 'config.admin is off'],
    ['admin on loopback', withAdmin('admin: { listen: "127.0.0.1:9090" }'), 'config.admin is a loopback address'],
    ['another admin port', withAdmin('admin: { listen: "0.0.0.0:1" }'), 'config.admin is 0.0.0.0:1, but in ports'],
    [
      'an admin token in the text',
      withAdmin('admin: { listen: "0.0.0.0:9090", token: hunter2hunter2hunter2 }'),
      'config.admin.token is a secret',
    ],
    [
      'an admin token that goes nowhere',
      { ...withAdmin('admin: 0.0.0.0:9090'), adminToken: { existingSecret: 'admin' } },
      'config.admin has no token',
    ],
    [
      'another folder',
      withConfig(/^limits:/m, 'policies: /etc/policies\nlimits:'),
      'config.policies must be ./policies',
    ],
    ['what is not YAML', { ...good, config: 'a: [' }, 'config is not YAML'],
    ['one line of JSON', { ...good, config: '{"routes": []}' }, 'does not look like a gateway.yaml'],
    ['two sources', { ...good, env: { SESSION_KEY: 'x' } }, 'SESSION_KEY is in env, and comes from a Secret too'],
    [
      'too little time',
      { ...good, terminationGracePeriodSeconds: 15 },
      'terminationGracePeriodSeconds must be 15 more',
    ],
    ['a policy as a mapping', { ...good, policies: { tools: { scope: 'read' } } }, 'policies'],
    ['an unknown key', { ...good, replicaCount: 3 }, 'replicaCount'],
    ['a privileged port', { ...good, ports: { http: 80 } }, 'ports'],
  ])('%s', ([, values, message]) => {
    const { code, stdout, stderr } = runHelm(['template', 'gw'], values);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain(message);
    expect(stderr).not.toContain('hunter2');
  });
});
