/** A terminal on a server: its user types the code in Chromium, and the terminal calls a tool. */
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { describe, expect, test } from 'vitest';
import { keepSecret } from '../support/secrecy.ts';
import { startBeforeAll } from '../support/start-before.ts';
import { startFrontDoorWorld } from '../worlds/front-door.ts';
import { hasChromium, launchChromium, withPage } from './chromium.ts';

describe.skipIf(!hasChromium)('in Chromium', () => {
  const browser = startBeforeAll(launchChromium);
  const world = startBeforeAll(() =>
    startFrontDoorWorld({
      frontDoor: 'clients: { registered: { terminal: { name: Terminal, grants: [device_code] } } }',
    }),
  );

  test('sallyport token shows a code, a person approves it, and the official client calls by its token', async () => {
    const args = ['bin/sallyport.js', 'token', '--issuer', world.issuer, '--client', 'terminal', '--device'];
    const program = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    const stdout = text(program.stdout);
    let said = '';
    for await (const piece of program.stderr.iterator({ destroyOnReturn: false })) {
      said += String(piece);
      if (said.includes('\n')) break;
    }
    const [, page = '', code = '', link = ''] = /^Open (\S+) and enter (\S+), or open (\S+)\n$/.exec(said) ?? [];
    expect([page, link]).toEqual([`${world.issuer}/device`, `${world.issuer}/device?user_code=${code}`]);
    await withPage(browser, async (tab) => {
      await tab.goto(page);
      await tab.getByLabel('Code').fill(code.toLowerCase());
      await tab.getByRole('button', { name: 'Continue' }).click();
      await tab.getByText('Go on only if you started this yourself').waitFor();
      await tab.getByRole('button', { name: 'Allow' }).click();
      await tab.getByText('Your device is connected').waitFor();
    });
    const token = (await stdout).trim();
    keepSecret(token);
    const client = new Client({ name: 'terminal', version: '1' });
    const requestInit = { headers: { authorization: `Bearer ${token}` } };
    await client.connect(new StreamableHTTPClientTransport(world.mcpUrl, { requestInit }));
    const answer = await client.callTool({ name: 'list_accounts', arguments: {} });
    expect(answer.isError ?? false).toBe(false);
    expect(await world.decision({ tool: 'list_accounts' })).toMatchObject({ allow: true, client_id: 'terminal' });
    await client.close();
  });
});
