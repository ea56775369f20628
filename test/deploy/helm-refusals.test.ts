import { expect, test } from 'vitest';
import { config, frontDoor, good } from './chart-values.ts';
import { helm, runHelm } from './helm.ts';

const withConfig = (from: string | RegExp, to: string) => {
  const changed = config.replace(from, to);
  expect(changed).not.toBe(config);
  return { ...good, config: changed };
};
const withListen = (listen: string) => withConfig(/^listen: .*/m, `listen: ${listen}`);
const withAdmin = (admin: string) => withConfig(/^admin:\n(?: .*\n)+/m, `admin: ${admin}\n`);

test.skipIf(helm === undefined).for<readonly [message: string, values: unknown]>([
  ['config is empty: pass your gateway.yaml with --set-file config=gateway.yaml', {}],
  ['several replicas need the same session key', { ...good, sessionKey: {} }],
  ['needs the session key', { ...good, replicas: 1, sessionKey: {}, shared: { existingSecret: 'r' } }],
  ['route tools uses the policy tools, which is missing', { ...good, policies: {} }],
  ['config contains a secret', withConfig('#introspection', 'x: { client_secret: hunter2 }\n    #')],
  ['config contains a secret (session_key', withConfig('#session_key: ${env:SESSION_KEY}', 'session_key: "abc"')],
  ['config.shared contains a password', withConfig(/^limits:/m, 'shared: redis://:pw@redis\nlimits:')],
  ['config.listen is a loopback address', withListen('127.0.0.1:8080')],
  ['config.listen is 0.0.0.0:9999, but its port', withListen('0.0.0.0:9999')],
  ['config.admin is off', withAdmin('off')],
  ['config.admin is a loopback address', withAdmin('{ listen: "127.0.0.1:9090" }')],
  ['config.admin is 0.0.0.0:1, but its port', withAdmin('{ listen: "0.0.0.0:1" }')],
  ['config.admin.token is a secret', withAdmin('{ listen: "0.0.0.0:9090", token: hunter2hunter2hunter2 }')],
  ['config.admin has no token', { ...withAdmin('0.0.0.0:9090'), adminToken: { existingSecret: 'admin' } }],
  ['config.policies must be ./policies', withConfig(/^limits:/m, 'policies: /etc/policies\nlimits:')],
  [
    'config.front_door.listen is 127.0.0.1:8090, which its Service cannot reach: write 0.0.0.0:8090',
    { ...good, config: `${config}${frontDoor.replace('0.0.0.0', '127.0.0.1')}` },
  ],
  ['several replicas of a front door need one store', { ...good, config: `${config}${frontDoor}` }],
  ['config is not YAML', { ...good, config: 'a: [' }],
  ['does not look like a gateway.yaml', { ...good, config: '{"routes": []}' }],
  ['SESSION_KEY is in env and in a Secret', { ...good, env: { SESSION_KEY: 'x' } }],
  ['terminationGracePeriodSeconds must be at least', { ...good, terminationGracePeriodSeconds: 15 }],
  ['ingress.host is empty: write the host name of public_url', { ...good, ingress: { enabled: true } }],
  [
    'ingress.frontDoorHost is set, but config has no front_door',
    { ...good, ingress: { enabled: true, host: 'a.example', frontDoorHost: 'b.example' } },
  ],
  ['httpRoute.parentRefs is empty', { ...good, httpRoute: { enabled: true, host: 'a.example' } }],
  ['replicaCount', { ...good, replicaCount: 3 }],
])('the chart refuses values with: %s', ([message, values]) => {
  const { code, stdout, stderr } = runHelm(['template', 'gw'], values);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toContain(message);
  expect(stderr).not.toContain('hunter2');
});
