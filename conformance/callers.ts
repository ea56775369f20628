/**
 * Callers without a browser: the suite's scenarios for such clients, with `sallyport token` as the client, and the same
 * client with the same credentials against the front door.
 *
 * @module
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { exportPKCS8 } from 'jose';
import { generateKey, type Issuer, startIssuer } from '../test/support/issuer.ts';
import { writeFrontDoorFiles } from '../test/worlds/front-door.ts';
import { serve } from './gateway.ts';

const client = fileURLToPath(new URL('token-client.ts', import.meta.url));
const suite = fileURLToPath(
  new URL('dist/index.js', import.meta.resolve('@modelcontextprotocol/conformance/package.json')),
);
const secret = 'the-secret-of-the-suite';

/** The scenarios, each with the credentials of its client at the front door. */
const scenarios: Readonly<Record<string, (issuer: string, keys: Issuer) => Promise<Record<string, string>>>> = {
  'auth/wif-jwt-bearer': async (issuer, keys) => ({
    valid_jwt: await keys.sign({ sub: 'conformance-workload', aud: issuer }, { header: { typ: 'JWT' } }),
  }),
  'auth/client-credentials-jwt': async (_issuer, keys) => ({
    client_id: 'signer',
    private_key_pem: await exportPKCS8(keys.key.privateKey),
  }),
  'auth/client-credentials-basic': async () => ({ client_id: 'job', client_secret: secret }),
};

/** Runs them. Prints a line for each, and returns the faults. */
export async function examineCallers(folder: string): Promise<readonly string[]> {
  const keys = await startIssuer(0, await generateKey('k1', 'ES256'));
  const files = await writeFrontDoorFiles({
    frontDoor: `clients:
    registered:
      job: { client_secret: ${secret}, grants: [client_credentials], scopes: [read] }
      signer: { client_auth: private_key_jwt, jwks_uri: "${keys.url}/jwks", grants: [client_credentials], scopes: [read] }
  workloads:
    suite: { issuer: "${keys.url}", jwks: "${keys.url}/jwks", subjects: [conformance-workload], scopes: [read] }`,
  });
  const gateway = await serve(files.folder);
  const faults: string[] = [];
  try {
    for (const [scenario, credentials] of Object.entries(scenarios)) {
      const command = `${process.execPath} ${client}`;
      const args = [suite, 'client', '--command', command, '--scenario', scenario, '--output-dir', folder];
      const context = JSON.stringify(await credentials(files.issuer, keys));
      for (const [place, ran] of [
        ['the suite', await run(args, {})],
        ['the front door', await run([client, `${files.gatewayUrl}/mcp`], { MCP_CONFORMANCE_CONTEXT: context })],
      ] as const) {
        process.stdout.write(`${ran === '' ? 'ok    ' : 'FAILED'} ${scenario} (${place})\n`);
        if (ran !== '') faults.push(`${scenario}, ${place}: ${ran}`);
      }
    }
  } finally {
    await gateway.close();
    await files.close();
    await keys.close();
  }
  return faults;
}

/** What a program printed that failed; empty for one that ended well. */
async function run(args: readonly string[], env: Readonly<Record<string, string>>): Promise<string> {
  const child = spawn(process.execPath, args, {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [output, errors, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return code === 0 ? '' : `${output}${errors}`;
}
