import { expect, test } from 'vitest';
import { hostKind } from '../../../src/serve/admin/access.ts';

const hosts = ['prometheus.internal'];

test.each([
  ['localhost', 'loopback'],
  ['LOCALHOST:9090', 'loopback'],
  ['localhost.', 'loopback'],
  ['sallyport.localhost', 'loopback'],
  ['127.0.0.1:9090', 'loopback'],
  ['127.8.8.8', 'loopback'],
  ['[::1]:9090', 'loopback'],
  ['[0:0:0:0:0:0:0:1]', 'loopback'],
  ['[::ffff:127.0.0.1]', 'loopback'],
  ['10.0.0.5:9090', 'own'],
  ['[fd00::1]:9090', 'own'],
  ['gateway', 'own'],
  ['Gateway:', 'own'],
  ['project_gateway_1:9090', 'own'],
  ['prometheus.internal', 'own'],
  ['PROMETHEUS.internal.:443', 'own'],
  ['', 'foreign'],
  [':9090', 'foreign'],
  ['.', 'foreign'],
  ['gateway.', 'foreign'],
  ['evil.example', 'foreign'],
  ['notlocalhost.example', 'foreign'],
  ['localhost.evil.example', 'foreign'],
  ['x.prometheus.internal', 'foreign'],
  ['127.0.0.1.evil.example', 'foreign'],
  ['localhost..', 'foreign'],
  ['local host', 'foreign'],
  ['localhost, evil.example', 'foreign'],
  ['localhost:9090:9090', 'foreign'],
  ['localhost:evil', 'foreign'],
  ['[::1', 'foreign'],
  ['[::1]x', 'foreign'],
  ['[gateway]', 'foreign'],
  ['[:::]', 'foreign'],
  ['[fe80::1%25lo]', 'foreign'],
  ['::1', 'foreign'],
  ['a@localhost', 'foreign'],
  ['loc\u0430lhost', 'foreign'],
])('Host: %s is %s', (host, kind) => {
  expect(hostKind(host, hosts)).toBe(kind);
});
