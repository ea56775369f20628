import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Bench } from '../bench.ts';
import type { Contender, Running, Surroundings } from '../contender.ts';
import { freeHost, startServer, written } from '../machine/process.ts';

/** The command and the configuration of a gateway. */
export interface SallyportOptions {
  readonly name?: string;
  /** The checkout to run; default: this one. */
  readonly root?: string;
  /** The program in the checkout; default: the one of `npm start`. */
  readonly program?: string;
  readonly workers?: number;
  readonly routes?: (surroundings: Surroundings) => readonly object[];
  /** By name. JSON is also YAML. */
  readonly policies?: Readonly<Record<string, object>>;
  /** More keys of `gateway.yaml`. */
  readonly more?: object;
}

/** A contender with metrics. */
export interface SallyportContender extends Contender {
  start(surroundings: Surroundings): Promise<Running & { readonly adminUrl: string }>;
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
  const { name = 'sallyport', root = thisCheckout, program = 'bin/sallyport.js', workers = 1 } = options;
  const { routes = defaultRoutes, policies: named = policies, more } = options;
  return {
    name,
    does: 'verifies (cached), decides, logs, counts, forwards',
    async start(surroundings) {
      const folder = join(surroundings.folder, name.replaceAll('/', '_'));
      const [host, admin] = [await freeHost(), await freeHost()];
      for (const [policy, document] of Object.entries(named)) {
        await written(join(folder, 'policies', `${policy}.yaml`), JSON.stringify(document));
      }
      const introspection = { client_id: 'gateway', client_secret: 'secret', cache: '5m' };
      const config = {
        public_url: `http://${host}`,
        listen: host,
        admin,
        authorization_servers: { main: { issuer: surroundings.issuer, jwt: { algorithms: ['RS256'] }, introspection } },
        routes: routes(surroundings),
        ...more,
      };
      const file = await written(join(folder, 'gateway.yaml'), JSON.stringify(config));
      const serve = ['serve', '--config', file, ...(workers === 1 ? [] : ['--workers', String(workers)])];
      const command = [process.execPath, join(resolve(root), program), ...serve];
      return { ...(await startServer(command, 'contender', host)), adminUrl: `http://${admin}` };
    },
  };
}

/** Whether a contender is a gateway of `--against`. */
export function isCheckout(name: string): boolean {
  return name.startsWith('sallyport@');
}

/** This checkout's gateway, those of `--against`, and the other contenders, limited to those of `--only`. */
export function compared({ against, only }: Bench, others: readonly Contender[]): readonly Contender[] {
  const checkouts = against.map((root) => createSallyport({ name: `sallyport@${root}`, root }));
  return [createSallyport(), ...checkouts, ...others.filter(({ name }) => only?.includes(name) ?? true)];
}
