import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { startTestGateway } from '../support/gateway.ts';
import { startIssuer } from '../support/issuer.ts';
import { startUpstream } from '../support/upstream.ts';

const run = promisify(execFile);

/** Goes below the example: tells of each argument what the example makes of it. */
const askEach = `
const asked = (statement) => caller({ headers: { 'x-auth-identity': statement } }).catch(({ code }) => code);
console.log(JSON.stringify(await Promise.all(process.argv.slice(2).map(asked))));
`;

/** The one block of a language in the documentation. */
async function block(language: string): Promise<string> {
  const page = await readFile(new URL('../../docs/upstream-identity.md', import.meta.url), 'utf8');
  const [first, ...more] = [...page.matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\``, 'gms'))];
  if (first?.[1] === undefined || more.length > 0) throw new Error(`not exactly one block of ${language}`);
  return first[1];
}

test('docs/upstream-identity.md: what its YAML makes, its code verifies, and refuses what the gateway did not say', async () => {
  const [issuer, upstream] = await Promise.all([startIssuer(), startUpstream()]);
  const yaml = (await block('yaml')).replace('http://orders:3000', upstream.url).replace(/^/gm, '    ');
  const gateway = await startTestGateway({
    publicUrl: 'https://gateway.example',
    yaml: `
authorization_servers: { main: { issuer: "${issuer.url}", jwt: { algorithms: [RS256] } } }
routes:
  - name: orders
    path: /
    audience: orders
${yaml}`,
  });
  const folder = await mkdtemp(join(tmpdir(), 'sallyport-docs-'));
  await symlink(fileURLToPath(new URL('../../node_modules', import.meta.url)), join(folder, 'node_modules'));
  const code = (await block('js'))
    .replace("new URL('https://gateway.example/", `new URL('${gateway.url}/`)
    .replace('http://orders:3000', upstream.url);
  await writeFile(join(folder, 'caller.mjs'), code + askEach);
  try {
    const token = await issuer.sign({ aud: 'orders', sub: 'alice' });
    await fetch(gateway.url, { headers: { authorization: `Bearer ${token}` } });
    const statement = String(upstream.seen.at(-1)?.headers['x-auth-identity']);
    const changed = `${statement.slice(0, -8)}AAAAAAAA`;
    const { stdout } = await run(process.execPath, [join(folder, 'caller.mjs'), statement, token, changed, '']);
    const [good, ...others] = JSON.parse(stdout) as unknown[];
    expect(good).toMatchObject({ sub: 'alice', token_issuer: issuer.url });
    expect(others).toEqual(['ERR_JOSE_ALG_NOT_ALLOWED', 'ERR_JWS_SIGNATURE_VERIFICATION_FAILED', 'ERR_JWS_INVALID']);
  } finally {
    await rm(folder, { recursive: true });
    await Promise.all([gateway.close(), issuer.close(), upstream.close()]);
  }
});
