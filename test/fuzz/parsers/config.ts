import { ConfigError } from '../../../src/config/problems.ts';
import { load } from '../../../src/config/load.ts';
import type { Files } from '../../../src/config/files.ts';
import { must } from './must.ts';
import type { Reader } from '../reader.ts';

const secret = 'S3cretThatNoProblemShows';

/** `gateway.yaml`: gives a configuration, or problems that name a place and show no secret. */
async function check(input: Buffer): Promise<void> {
  const files: Files = {
    at: 0,
    names: () => Promise.resolve(['x.yaml']),
    text: (file) => Promise.resolve(file === 'gateway.yaml' ? { text: input.toString() } : { text: '{}' }),
  };
  const loaded = await load('gateway.yaml', { SECRET: secret }, files).catch((error: unknown) => {
    must(error instanceof ConfigError, `another error: ${String(error)}`);
    must(!String(error).includes(secret.slice(0, 8)), 'a problem shows a secret');
  });
  if (loaded === undefined) return;
  const { config } = loaded;
  must(
    config.routes.every((route) => route.public || route.audiences.length > 0),
    'a route without an audience',
  );
  must(
    config.routes.every((route) => !route.public || route.policy === undefined),
    'a public route with a policy',
  );
  must(new Set(config.routes.map(({ path }) => path)).size === config.routes.length, 'two routes on one path');
}

export const config: Reader = {
  check,
  words: (
    'public_url: http://x\n|listen: |admin: off\n|${env:SECRET}|${env:A:-b}|${file:x}|routes:\n|' +
    '  - name: a\n|    path: /a\n|    audience: a\n|    public: true\n|    protocol: mcp\n|' +
    '    policy: x\n|    upstream: { url: http://y }\n|1MiB|30s|off|&a |*a|\n|  |: |{|}|[|]|' +
    'limits: { rate: { requests: 1, per: 1s } }\n|introspection: { client_id: a, client_secret: |' +
    'jwt: { algorithms: [RS256] }'
  ).split('|'),
};
