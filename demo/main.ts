/**
 * `npm run demo`: starts all servers on loopback, walks the authorization life cycle, and keeps the servers running.
 *
 * @module
 */
import { parseArgs, styleText } from 'node:util';

import { PlainError } from './plain-error.ts';
import { startFrontDoorStack, startStack, urls, type Stack } from './stack.ts';
import { runWalk } from './walk.ts';

const usage = `npm run demo -- [--front-door] [--once] [--against URL]

  Starts the demo's authorization server, MCP server, backend and the gateway on
  loopback, walks the authorization life cycle against them, and keeps them running.

  --front-door    with the front door instead, and a company's OpenID provider behind it
  --once          stop after the walk: exit 0 if every step passed, else 1
  --against URL   start nothing; walk the deployment with its gateway at this URL
  --help          show this`;

/** The lifetime of a high-privilege token in seconds: short, so that the walk need not wait a minute for its end. */
const highPrivilegeTtl = { once: 5, staying: 15 };

async function main(): Promise<number> {
  const options = readOptions();
  if (typeof options === 'number') return options;
  const companyUrl = options.frontDoor ? urls.company : undefined;
  if (options.against !== undefined) {
    return (await runWalk({ gatewayUrl: options.against.replace(/\/$/, ''), companyUrl })) ? 0 : 1;
  }

  const stop = whenStopped();
  const stack = options.frontDoor
    ? await startFrontDoorStack()
    : await startStack(options.once ? highPrivilegeTtl.once : highPrivilegeTtl.staying);
  const ended = Promise.race([stop, stack.gateway.ended.then(() => 'gateway ended' as const)]);
  try {
    printUrls(stack);
    let over = false;
    const walk = runWalk({ gatewayUrl: urls.gateway, companyUrl, print: (line) => void (over || console.log(line)) });
    const outcome = await Promise.race([walk, ended]);
    over = true;
    if (typeof outcome === 'boolean' && options.once) return outcome ? 0 : 1;
    if (typeof outcome === 'boolean') showDecisions(stack);
    if ((await ended) === 'stopped') return options.once ? 1 : 0;
    console.error(`The gateway stopped unexpectedly; its log is ${stack.gateway.logFile}`);
    return 1;
  } finally {
    await stack.close();
  }
}

interface Options {
  readonly once: boolean;
  readonly frontDoor: boolean;
  readonly against: string | undefined;
}

function readOptions(): number | Options {
  try {
    const { values } = parseArgs({
      options: {
        once: { type: 'boolean', default: false },
        'front-door': { type: 'boolean', default: false },
        against: { type: 'string' },
        help: { type: 'boolean' },
      },
    });
    if (values.help) {
      console.log(usage);
      return 0;
    }
    return { once: values.once, frontDoor: values['front-door'], against: values.against };
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}\n\n${usage}`);
    return 2;
  }
}

function printUrls({ addresses }: Stack): void {
  for (const [name, where] of addresses) console.log(`${name.padEnd(24)} ${where}`);
}

function showDecisions({ gateway }: Stack): void {
  console.log('\nRunning until Ctrl-C. Connect an MCP client to the gateway; its decisions appear here:\n');
  gateway.follow((line) => console.log(styleText('dim', line)));
}

/** Resolves when the user stops the demo. */
function whenStopped(): Promise<'stopped'> {
  const { promise, resolve } = Promise.withResolvers<'stopped'>();
  process.once('SIGINT', () => resolve('stopped'));
  process.once('SIGTERM', () => resolve('stopped'));
  // A signal to npm ends npm and its shell and never reaches this process, which would then run without a parent.
  const parent = process.ppid;
  const whenOrphaned = (): void => void (process.ppid !== parent && resolve('stopped'));
  if (process.env.npm_lifecycle_event !== undefined) setInterval(whenOrphaned, 500).unref();
  return promise;
}

try {
  // An interrupted walk would keep the process alive.
  process.exit(await main());
} catch (error) {
  if (!(error instanceof PlainError)) throw error;
  console.error(error.message);
  process.exit(1);
}
