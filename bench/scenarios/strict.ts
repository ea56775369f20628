import { setTimeout as wait } from 'node:timers/promises';
import { tenCall, tenTool } from '../answers.ts';
import type { Scenario } from '../bench.ts';
import { measureCpu } from '../compare-cpu.ts';
import { createSallyport } from '../contenders/sallyport.ts';
import { startNode } from '../machine/process.ts';
import { differences, median } from '../statistics.ts';
import { atMost, type Line } from '../table.ts';
import { definitionOf } from '../../src/mcp/guarded-message.ts';
import { requestOf } from './requests.ts';

/** What a strict call may cost beside a plain one, in µs. */
const AIM_US = 10;

/** The same call under a lock alone, and with `calls: strict`. */
export const strict: Scenario = {
  name: 'strict',
  about: 'POST tools/call of a tool with ten arguments, under `lock: deny` without and with `calls: strict`',
  async run(bench) {
    const upstream = await startNode('strict-upstream.ts', 'other');
    const lock = { tools: { [tenTool.name]: { sha256: definitionOf('tool', tenTool.name, tenTool).sha256 } } };
    const policy = { scope: 'read', claims: { tenant: 'acme' }, lock: 'deny', tools: { [tenTool.name]: {} } };
    const contender = (name: string, more: object) =>
      createSallyport({
        name,
        policies: { tools: { ...policy, ...more }, 'tools.lock': lock },
        routes: ({ upstream: url, audience }) => [
          { name: 'mcp', path: '/mcp', protocol: 'mcp', audience, policy: 'tools', upstream: { url: `${url}/mcp` } },
        ],
      });
    const contenders = [contender('plain', {}), contender('strict', { calls: 'strict' })];
    const request = { ...requestOf('post', await bench.token()), body: tenCall };
    try {
      const samples = await bench.with(
        contenders,
        async (running) => {
          for (const { url } of running.values()) await compared(`${url}${request.path}`, request);
          return measureCpu(bench, running, request);
        },
        { upstream: upstream.url },
      );
      const [plain = [], judged = []] = contenders.map(({ name }) => samples.get(name) ?? []);
      const adds = median(differences(judged, plain));
      return contenders.map(({ name }): Line => {
        const cells = { 'CPU µs/request': median(samples.get(name) ?? []).toFixed(1) };
        if (name === 'plain') return { subject: name, cells };
        const micros = (value: number): string => `${value.toFixed(1)} µs`;
        return {
          subject: name,
          cells: { ...cells, adds: micros(adds) },
          aims: [atMost('compared with a plain call', AIM_US, adds, micros)],
        };
      });
    } finally {
      await upstream.stop();
    }
  },
};

/** Waits until a gateway has compared what its server shows: before, a call gets 503. */
async function compared(url: string, { headers, body }: ReturnType<typeof requestOf>): Promise<void> {
  for (;;) {
    const response = await fetch(url, { method: 'POST', headers, ...(body !== undefined && { body }) });
    await response.arrayBuffer();
    if (response.status === 200) return;
    if (response.status !== 503) throw new Error(`a call gets ${response.status}`);
    await wait(50);
  }
}
