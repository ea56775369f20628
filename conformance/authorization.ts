/**
 * Runs the suite's scenarios for authorization servers against the front door: its metadata, and a code grant for which
 * a person clicks in Chromium.
 *
 * @module
 */
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { hasChromium, launchChromium } from '../test/clients/chromium.ts';
import { freePort } from '../test/support/ports.ts';
import { writeFrontDoorFiles } from '../test/worlds/front-door.ts';
import { registerClient } from '../test/worlds/oauth-client.ts';
import { serve } from './gateway.ts';
import { checkText } from './compare.ts';
import { type Check, runSuite } from './suite.ts';

/** A client of the front door. */
interface SuiteClient {
  readonly name: string;
  /** The options by which the suite knows it. */
  readonly options: readonly string[];
  /** Checks that are expected to fail, and why. */
  readonly fails?: Readonly<Record<string, string>>;
}

const metadata = 'authorization-server-metadata';
const grant = 'authorization-code-grant';

/** The checks of the suite's scenarios for authorization servers. */
const checks = [metadata, `${metadata}-cimd`, grant];

const registered = `
    registered:
      public: { name: Public, redirect_uris: ["http://127.0.0.1:*/callback"] }
      secret: { name: Secret, client_secret: the-secret-of-the-suite, redirect_uris: ["http://127.0.0.1:*/callback"] }`;

/** Runs them for each place of the issuer and each kind of client. Prints a line for each, and returns the faults. */
export async function examineFrontDoor(folder: string): Promise<readonly string[]> {
  if (!hasChromium) {
    process.stdout.write('skipped: the scenarios for authorization servers; there is no Chromium\n');
    return [];
  }
  const browser = await launchChromium();
  const faults: string[] = [];
  try {
    faults.push(...(await examineAt('own origin', {}, browser, folder)));
    faults.push(...(await examineAt('below the gateway', { below: '/signin' }, browser, folder)));
  } finally {
    await browser.close();
  }
  return faults;
}

async function examineAt(
  place: string,
  where: { readonly below?: string },
  browser: Browser,
  folder: string,
): Promise<readonly string[]> {
  const files = await writeFrontDoorFiles({
    ...where,
    frontDoor: `clients:
    metadata_documents: ["https://client.example.com/**"]
    registration: { redirect_uris: ["http://127.0.0.1:*/**"] }${registered}`,
  });
  const gateway = await serve(files.folder);
  try {
    const { id } = await registerClient(files.issuer, { redirect_uris: ['http://127.0.0.1/callback'] });
    const clients: readonly SuiteClient[] = [
      { name: 'registered by itself', options: ['--client-id', id] },
      { name: 'public, with resource', options: ['--client-id', 'public', '--resource', `${files.gatewayUrl}/mcp`] },
      {
        name: 'with a secret',
        options: ['--client-id', 'secret', '--client-secret', 'the-secret-of-the-suite'],
        fails: { [grant]: 'the suite sends no secret to a server that also lists the method `none`' },
      },
    ];
    const faults: string[] = [];
    for (const client of clients) {
      const results = join(folder, 'authorization', `${place}, ${client.name}`);
      const made = await examineClient(files.issuer, client, browser, results);
      const passed = made.filter(({ status }) => status === 'SUCCESS').length;
      process.stdout.write(`front door, ${place}, ${client.name}: ${passed}/${made.length}\n`);
      faults.push(...faultsOf(client, made).map((fault) => `${place}, ${client.name}: ${fault}`));
    }
    return faults;
  } finally {
    await gateway.close();
    await files.close();
  }
}

/** Runs the scenarios with one client. The person clicks on the address that the suite prints. */
async function examineClient(
  issuer: string,
  { options }: SuiteClient,
  browser: Browser,
  folder: string,
): Promise<readonly Check[]> {
  const port = String(await freePort());
  const command = ['authorization', '--url', issuer, '--port', port, ...options];
  const ending = new AbortController();
  let stopped = '';
  const results = await runSuite({
    command,
    folder,
    signal: ending.signal,
    onLine(line) {
      if (!line.startsWith(`${issuer}/authorize?`)) return;
      signIn(browser, line).catch((error: unknown) => {
        stopped = String(error);
        // The suite would wait for minutes.
        ending.abort();
      });
    },
  });
  if (stopped !== '') throw new Error(`the person did not come back to the suite: ${stopped}`);
  return [...results.values()].flat();
}

async function signIn(browser: Browser, address: string): Promise<void> {
  const context = await browser.newContext();
  context.setDefaultTimeout(20_000);
  try {
    const page = await context.newPage();
    await page.goto(address);
    await page.getByRole('button', { name: 'Allow' }).click();
    await page.getByText('You can close this page').waitFor();
  } finally {
    await context.close();
  }
}

/** Checks that were not made, that failed, and that passed although a failure is expected. */
function faultsOf({ fails = {} }: SuiteClient, made: readonly Check[]): readonly string[] {
  return checks.flatMap((id) => {
    const check = made.find((each) => each.id === id);
    const reason = fails[id];
    const passed = check?.status === 'SUCCESS';
    if (reason === undefined) return passed ? [] : [checkText(check)];
    return passed ? [`${id} passed, and was expected to fail: ${reason}`] : [];
  });
}
