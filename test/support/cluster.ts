import { freePort } from './ports.ts';
import { type Redis, startRedis } from './redis.ts';

/** One server of a cluster. */
export interface ClusterNode extends Redis {
  readonly busPort: number;
  readonly id: string;
  /** Makes a replica the master, as the other masters would after they have missed the former one for seconds. */
  promote(): Promise<unknown>;
  /** Resolves when it is a master. */
  promoted(): Promise<unknown>;
}

/** A real cluster on loopback: three masters, and a replica of each. */
export interface Cluster {
  readonly url: string;
  readonly nodes: readonly ClusterNode[];
  /** The master of a slot, by the servers that run. */
  masterOf(slot: number): Promise<ClusterNode>;
  /** The master and the replica of one of the three groups. A machine without time for them may have changed both. */
  pair(group: number): Promise<readonly [master: ClusterNode, replica: ClusterNode]>;
  /** Waits until a replica has all that its master has, if one runs. */
  replicated(master: ClusterNode): Promise<void>;
  close(): Promise<void>;
}

const SLOTS = 16_384;
const MASTERS = 3;

/** Starts six servers and makes them a cluster. `options` are arguments of each. */
export async function startCluster(options: readonly string[] = []): Promise<Cluster> {
  const nodes = await Promise.all(Array.from({ length: 2 * MASTERS }, async () => startNode(options)));
  const { password } = new URL(nodes[0]?.url ?? '');
  const [masters, replicas] = [nodes.slice(0, MASTERS), nodes.slice(MASTERS)];
  await Promise.all(
    masters.map(async ({ client }, index) => {
      const from = Math.floor((index * SLOTS) / MASTERS);
      const to = Math.floor(((index + 1) * SLOTS) / MASTERS) - 1;
      await client.sendCommand(['CLUSTER', 'ADDSLOTSRANGE', String(from), String(to)]);
      // Each master starts with an epoch of its own, so that no two masters have to resolve a conflict.
      await client.sendCommand(['CLUSTER', 'SET-CONFIG-EPOCH', String(index + 1)]);
    }),
  );
  // Each meets each: gossip would take another second to tell them of one another.
  await Promise.all(
    nodes.flatMap(({ client }, index) =>
      nodes
        .slice(index + 1)
        .map(({ port, busPort }) =>
          client.sendCommand(['CLUSTER', 'MEET', '127.0.0.1', String(port), String(busPort)]),
        ),
    ),
  );
  await Promise.all(nodes.map(async (node) => eventually(async () => knows(node, nodes))));
  await Promise.all(
    replicas.map(async ({ client }, index) => client.sendCommand(['CLUSTER', 'REPLICATE', masters[index]?.id ?? ''])),
  );
  await Promise.all(
    nodes.map(async ({ client }, index) =>
      eventually(async () => {
        const about = await client.info('replication');
        const links = index < MASTERS ? 'state=online' : 'master_link_status:up';
        return about.includes(links) && (await client.clusterInfo()).includes('cluster_state:ok');
      }),
    ),
  );

  return {
    url: `redis+cluster://${password && `:${password}@`}${nodes.map(({ port }) => `127.0.0.1:${port}`).join(',')}`,
    nodes,
    async masterOf(slot) {
      const { port } = await eventually(async () => masterIn(nodes, slot));
      return nodes.find((node) => node.port === port) as ClusterNode;
    },
    async pair(group) {
      const [one, other] = [masters[group], replicas[group]] as [ClusterNode, ClusterNode];
      return (await isMaster(one)) ? [one, other] : [other, one];
    },
    async replicated({ client }) {
      if ((await client.info('replication')).includes('state=online')) await client.wait(1, 10_000);
    },
    async close() {
      await Promise.all(nodes.map((node) => node.close()));
    },
  };
}

/** Moves a slot with all its keys, a part of them first. `between` is called at each stage. */
export async function moveSlot(
  { nodes }: Cluster,
  slot: number,
  { source, target }: { readonly source: ClusterNode; readonly target: ClusterNode },
  between: () => Promise<void>,
): Promise<void> {
  const set = (node: ClusterNode, ...words: string[]) =>
    node.client.sendCommand(['CLUSTER', 'SETSLOT', String(slot), ...words]);
  const move = async (most: number): Promise<number> => {
    const keys = await source.client.clusterGetKeysInSlot(slot, most);
    const { password } = new URL(source.url);
    const login = password === '' ? [] : ['AUTH', decodeURIComponent(password)];
    if (keys.length > 0) {
      const where = ['127.0.0.1', String(target.port), '', '0', '5000'];
      await source.client.sendCommand(['MIGRATE', ...where, ...login, 'KEYS', ...keys]);
    }
    return keys.length;
  };
  await set(target, 'IMPORTING', source.id);
  await set(source, 'MIGRATING', target.id);
  await between();
  await move(1);
  await between();
  while ((await move(100)) > 0) {}
  await between();
  const masters = nodes.filter(({ id }) => id !== source.id && id !== target.id);
  for (const node of [target, source]) await set(node, 'NODE', target.id);
  await Promise.allSettled(masters.map((node) => set(node, 'NODE', target.id)));
  await between();
}

async function startNode(options: readonly string[]): Promise<ClusterNode> {
  const busPort = await freePort();
  const redis = await startRedis(
    [
      ['--cluster-enabled', 'yes', '--cluster-port', String(busPort), '--cluster-node-timeout', '3000'],
      ['--cluster-replica-validity-factor', '0', '--repl-diskless-sync-delay', '0', '--repl-ping-replica-period', '1'],
      options,
    ].flat(),
  );
  const { client } = redis;
  return {
    ...redis,
    busPort,
    id: await client.clusterMyId(),
    promote: () => client.sendCommand(['CLUSTER', 'FAILOVER', 'FORCE']),
    promoted: () => eventually(async () => isMaster({ client })),
  };
}

async function isMaster({ client }: Pick<ClusterNode, 'client'>): Promise<boolean> {
  return (await client.info('replication')).includes('role:master');
}

/** Whether a server knows the others by their ids: during the handshake it has made up some. */
async function knows({ client }: ClusterNode, nodes: readonly ClusterNode[]): Promise<boolean> {
  const known = await client.sendCommand<string>(['CLUSTER', 'NODES']);
  return nodes.every(({ id }) => known.includes(id));
}

async function masterIn(nodes: readonly ClusterNode[], slot: number): Promise<{ port: number } | undefined> {
  const first = nodes.find(({ client }) => client.isReady);
  const ranges = (await first?.client.clusterSlots()) ?? [];
  return ranges.find(({ from, to }) => from <= slot && slot <= to)?.master;
}

/** The value of `question`, asked again until it has one. */
async function eventually<Value>(question: () => Promise<Value>): Promise<NonNullable<Value>> {
  for (const end = performance.now() + 60_000; performance.now() < end;) {
    const value = await question();
    if (value) return value;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error('the cluster did not get there');
}
