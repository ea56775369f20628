/**
 * The client that the suite's scenarios for clients without a browser start: `sallyport token` gets the token, and the
 * official client calls by it.
 *
 *     node conformance/token-client.ts SERVER
 *
 * @module
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  Client,
  discoverOAuthProtectedResourceMetadata,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client';

const server = process.argv.at(-1) ?? '';
const context = JSON.parse(process.env['MCP_CONFORMANCE_CONTEXT'] ?? '{}') as Readonly<Record<string, string>>;
const { authorization_servers: [issuer = ''] = [], resource } = await discoverOAuthProtectedResourceMetadata(server);
const { client_id: client = '', client_secret: secret, private_key_pem: key, valid_jwt: workload } = context;
const file = join(mkdtempSync(join(tmpdir(), 'sallyport-conformance-')), 'credential');
writeFileSync(file, key ?? workload ?? '', { mode: 0o600 });
const credential =
  workload !== undefined
    ? ['--workload', file]
    : ['--client', client, ...(key === undefined ? ['--client-secret', '-'] : ['--key', file])];
const program = fileURLToPath(new URL('../bin/sallyport.js', import.meta.url));
const args = [program, 'token', '--issuer', issuer, '--resource', resource, ...credential];
const token = execFileSync(process.execPath, args, { input: secret ?? '', encoding: 'utf8' }).trim();
const caller = new Client({ name: 'sallyport-token', version: '1' });
const requestInit = { headers: { authorization: `Bearer ${token}` } };
await caller.connect(new StreamableHTTPClientTransport(new URL(server), { requestInit }));
await caller.listTools();
await caller.close();
