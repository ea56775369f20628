import { expect, test } from 'vitest';
import { examine } from '../../src/cli/doctor/doctor.ts';
import type { Finding } from '../../src/cli/doctor/finding.ts';
import { loaded } from '../config/folder.ts';
import { startIssuer } from '../support/issuer.ts';

test('R-228: doctor names the remedy of each failure, and shows no token', async () => {
  const issuer = await startIssuer();
  try {
    const config = await loaded({
      yaml: `public_url: http://127.0.0.1:1024
authorization_servers: { main: { issuer: "${issuer.url}", jwt: { algorithms: [ES256] } } }
routes:
  - { name: api, path: /api, audience: a, resource: {}, upstream: { url: "http://127.0.0.1:1024" } }
`,
    });
    const value = await issuer.sign({ aud: 'b' });
    const findings: Finding[] = [];
    for await (const finding of examine(config, { value, route: 'api' })) findings.push(finding);
    const failed = findings.filter(({ status }) => status === 'fail');
    expect(failed.map(({ subject }) => subject)).toEqual([
      'authorization_servers.main',
      'routes.api.upstream',
      'token',
      'token',
      'token',
    ]);
    expect(failed.filter(({ remedy }) => remedy === undefined)).toEqual([]);
    for (const part of value.split('.')) expect(JSON.stringify(findings)).not.toContain(part);
  } finally {
    await issuer.close();
  }
});
