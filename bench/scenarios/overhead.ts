import { modernToolCall } from '../answers.ts';
import type { Scenario } from '../bench.ts';
import type { Running } from '../contender.ts';
import { direct, undiciFloor } from '../contenders/node.ts';
import { compared } from '../contenders/sallyport.ts';
import { bytesOf } from '../load/connection.ts';
import { each } from '../load/steady.ts';
import { startNode } from '../machine/process.ts';
import { inRounds, median, medianRatio } from '../statistics.ts';
import { times, type Line } from '../table.ts';
import { requestOf } from './requests.ts';

const CLIENTS = [1, 8, 32];
const CALLS = 2000;

/**
 * The latency of a call of a real MCP server through a contender, compared with a direct call: as proxies for MCP
 * publish it. Each client waits for its answer before it calls again. Each call has other arguments.
 */
export const overhead: Scenario = {
  name: 'overhead',
  about: `POST tools/call, 2026-07-28, of a server of the official SDK: the median latency beside that of a direct call`,
  async run(bench) {
    const server = await startNode('mcp-server.ts', 'other');
    const contenders = [direct, ...compared(bench, [undiciFloor])];
    const request = requestOf('post-modern', await bench.token());
    let called = 0;
    const calls = (url: string): Buffer[] =>
      Array.from({ length: CALLS }, () => {
        called += 1;
        const body = modernToolCall.replace('ABB', String(called).padStart(9, '0'));
        return bytesOf(url, { ...request, body });
      });
    /** By the number of clients. */
    const samples = new Map<number, ReadonlyMap<string, readonly number[]>>();
    const measure = async (running: ReadonlyMap<string, Running>): Promise<void> => {
      for (const clients of CLIENTS) {
        const latency = async ({ url }: Running): Promise<number> => median(await each(url, calls(url), clients));
        samples.set(clients, await inRounds(1 + bench.rounds, running, latency));
      }
    };
    try {
      await bench.with(contenders, measure, { upstream: server.url });
    } finally {
      await server.stop();
    }
    return contenders.map(({ name }): Line => {
      const cells: Record<string, string> = {};
      for (const clients of CLIENTS) {
        // The first round warms up.
        const of = (contender: string): readonly number[] => samples.get(clients)?.get(contender)?.slice(1) ?? [];
        cells[`${clients} at once, ms`] = median(of(name)).toFixed(2);
        cells[`${clients} at once, over direct`] = times(medianRatio(of(name), of(direct.name)));
      }
      return { subject: name, cells };
    });
  },
};
