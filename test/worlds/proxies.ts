import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe } from 'vitest';
import { freePort } from '../support/ports.ts';
import { isInstalled, nginxPaths, startProgram } from '../support/program.ts';
import { startForwardAuthWorld } from './forward-auth.ts';
import type { World } from './gateway.ts';

const examples = new URL('../../deploy/forward-auth/', import.meta.url).pathname;

/** The proxies that `deploy/forward-auth` has examples for, each with the flag that prints its version. */
const versionFlags = { nginx: '-v', caddy: 'version', haproxy: '-v' };

type Program = keyof typeof versionFlags;

/** A gateway that a real proxy asks, with a committed example as the configuration of the proxy. */
export interface ProxyWorld extends World {
  /** Where clients call. */
  readonly proxyUrl: string;
}

/** Declares the tests of each proxy; skips a proxy that this machine does not have, and says so. */
export function describeProxies<Tested extends Program>(
  programs: readonly Tested[],
  title: string,
  declare: (program: Tested) => void,
): void {
  for (const program of programs) {
    describe.runIf(isInstalled(program, versionFlags[program]))(`${program} ${title}`, () => {
      declare(program);
    });
  }
}

/** An example with some of its text replaced, which it must have. */
async function example(name: string, replacements: Readonly<Record<string, string>>): Promise<string> {
  let text = await readFile(join(examples, name), 'utf8');
  for (const [written, meant] of Object.entries(replacements)) {
    if (!text.includes(written)) throw new Error(`${name} has no ${written}`);
    // A port that was put in may begin with one that is to be replaced.
    const whole = /\d$/.test(written) ? '(?!\\d)' : '';
    text = text.replaceAll(new RegExp(written.replaceAll(/\W/g, String.raw`\$&`) + whole, 'g'), () => meant);
  }
  return text;
}

/** Starts one. @param options `yaml`: more at the top level of gateway.yaml; `edits`: replacements in the example. */
export async function startProxyWorld(
  program: Program,
  { yaml = '', edits = {} }: { readonly yaml?: string; readonly edits?: Readonly<Record<string, string>> } = {},
): Promise<ProxyWorld> {
  const world = await startForwardAuthWorld({ yaml });
  const folder = await mkdtemp(join(tmpdir(), `sallyport-${program}-`));
  const port = await freePort();
  const addresses = {
    ...edits,
    ':8000': `:${port}`,
    '127.0.0.1:8080': hostOf(world.gateway.url),
    '127.0.0.1:3002': hostOf(world.upstream.url),
    '127.0.0.1:8081': hostOf(world.gateway.forwardAuthUrl),
  };
  const file = join(folder, 'config');
  const commands = {
    async nginx() {
      const text = await example('nginx.conf', {
        ...addresses,
        'http {\n': `http {\n  access_log off; ${nginxPaths(folder)}\n`,
      });
      await writeFile(file, text);
      const main = `daemon off; pid ${folder}/pid; error_log ${folder}/errors; master_process off;`;
      return ['-p', folder, '-c', file, '-e', `${folder}/errors`, '-g', main];
    },
    async caddy() {
      const globals = '{\n\tadmin off\n\tauto_https off\n}\n';
      await writeFile(file, globals + (await example('Caddyfile', { ...addresses })));
      return ['run', '--config', file, '--adapter', 'caddyfile'];
    },
    async haproxy() {
      const script = join(examples, 'sallyport.lua');
      await writeFile(file, await example('haproxy.cfg', { ...addresses, '/etc/haproxy/sallyport.lua': script }));
      return ['-db', '-f', file];
    },
  };
  const options = await commands[program]();
  const environment = { ...process.env, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder };
  const proxy = await startProgram(program, options, port, environment);
  return {
    ...world,
    proxyUrl: `http://127.0.0.1:${port}`,
    async close() {
      await proxy.close();
      await world.close();
    },
  };
}

function hostOf(url: string): string {
  return new URL(url).host;
}
