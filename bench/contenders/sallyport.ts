import { mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Contender, Running, Surroundings } from '../contender.ts';
import { answering, childrenOf, startProgram } from '../machine/process.ts';
import { freePort } from '../../test/support/ports.ts';

/** The command and the configuration of a gateway. */
export interface SallyportOptions {
  readonly name?: string;
  /** The checkout to run; default: this one. */
  readonly root?: string;
  /** Flags for Node. */
  readonly flags?: readonly string[];
  /** The program in the checkout; default: the one of `npm start`. */
  readonly program?: string;
  readonly workers?: number;
  /** The address of the admin listener, or `off`. */
  readonly admin?: string;
  readonly routes?: (surroundings: Surroundings) => readonly object[];
  /** By name. JSON is also YAML. */
  readonly policies?: Readonly<Record<string, object>>;
  /** More keys of `gateway.yaml`. */
  readonly more?: object;
}

/** A gateway that is running. */
interface RunningSallyport extends Running {
  readonly adminUrl: string;
}

/** A contender with metrics. */
export interface SallyportContender extends Contender {
  start(surroundings: Surroundings): Promise<RunningSallyport>;
}

const thisCheckout = fileURLToPath(new URL('../..', import.meta.url));

/** The policies of the benchmarks. */
export const policies = {
  reader: { scope: 'read', claims: { tenant: 'acme' } },
  tools: {
    scope: 'read',
    claims: { tenant: 'acme' },
    tools: {
      'get_*': {},
      search: { scope: 'read' },
      transfer: { scope: 'payments', arguments: { '/amount': { at_most: 1000 } } },
    },
  },
};

/** An HTTP route and two MCP routes, one for calls and one for lists. */
export function defaultRoutes({ upstream, audience }: Surroundings): readonly object[] {
  const identity = { 'x-auth-subject': 'sub' };
  const mcp = (name: string, path: string): object => {
    return { name, path, protocol: 'mcp', audience, policy: 'tools', upstream: { url: upstream + path, identity } };
  };
  return [
    { name: 'api', path: '/api', audience, policy: 'reader', upstream: { url: `${upstream}/api`, identity } },
    mcp('mcp', '/mcp'),
    mcp('list', '/mcp/list'),
  ];
}

/** The gateway as operators run it: with policies, the decision log and metrics. */
export function createSallyport(options: SallyportOptions = {}): SallyportContender {
  const {
    name = 'sallyport',
    root = thisCheckout,
    flags = [],
    program: main = 'bin/sallyport.js',
    workers = 1,
  } = options;
  return {
    name,
    does: 'verifies (cached), decides, logs, counts, forwards',
    missing: () => undefined,
    async start(surroundings) {
      const folder = join(surroundings.folder, name.replaceAll('/', '_'));
      const port = await freePort();
      const adminPort = await freePort();
      const file = await writeConfiguration(folder, port, adminPort, surroundings, options);
      const serve = ['serve', '--config', file, ...(workers === 1 ? [] : ['--workers', String(workers)])];
      const program = startProgram([process.execPath, ...flags, join(resolve(root), main), ...serve], 'contender');
      const url = `http://127.0.0.1:${port}`;
      await answering(url);
      return {
        url,
        adminUrl: `http://127.0.0.1:${adminPort}`,
        pids: [program.pid, ...childrenOf(program.pid)],
        output: program.output,
        stop: program.stop,
      };
    },
  };
}

async function writeConfiguration(
  folder: string,
  port: number,
  adminPort: number,
  surroundings: Surroundings,
  { routes = defaultRoutes, policies: named = policies, admin = `127.0.0.1:${adminPort}`, more }: SallyportOptions,
): Promise<string> {
  await mkdir(join(folder, 'policies'), { recursive: true });
  for (const [name, policy] of Object.entries(named)) {
    await writeFile(join(folder, 'policies', `${name}.yaml`), JSON.stringify(policy));
  }
  const file = join(folder, 'gateway.yaml');
  const introspection = { client_id: 'gateway', client_secret: 'secret', cache: '5m' };
  const config = {
    public_url: `http://127.0.0.1:${port}`,
    listen: `127.0.0.1:${port}`,
    admin,
    authorization_servers: { main: { issuer: surroundings.issuer, jwt: { algorithms: ['RS256'] }, introspection } },
    routes: routes(surroundings),
    ...more,
  };
  await writeFile(file, JSON.stringify(config, undefined, 2));
  return file;
}
