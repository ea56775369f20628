import { modernHeaders, modernToolCall } from '../answers.ts';
import { compared } from '../contenders/compared.ts';
import { direct, undiciFloor } from '../contenders/node.ts';
import { bytesOf } from '../load/connection.ts';
import { each } from '../load/steady.ts';
import { startServer } from '../machine/process.ts';
import type { Scenario } from '../scenario.ts';
import { median, medianRatio, rotated } from '../statistics.ts';
import type { Line } from '../table.ts';

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
    const server = await startServer(new URL('../servers/mcp-server.ts', import.meta.url), 'other', {});
    const contenders = [direct, ...compared(bench, [undiciFloor])];
    const authorization = `Bearer ${await bench.token()}`;
    const headers = {
      authorization,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...modernHeaders,
    };
    const samples = new Map<string, number[]>();
    let called = 0;
    const calls = (url: string): Buffer[] =>
      Array.from({ length: CALLS }, () => {
        called += 1;
        const body = modernToolCall.replace('ABB', String(called).padStart(9, '0'));
        return bytesOf(url, { method: 'POST', path: '/mcp', headers, body });
      });
    try {
      await bench.with(
        contenders,
        async (running) => {
          for (let round = 0; round <= bench.rounds; round += 1) {
            for (const clients of CLIENTS) {
              for (const [name, { url }] of rotated([...running], round)) {
                const { latencies, failed } = await each(url, calls(url), clients);
                if (failed > 0) throw new Error(`${name}: ${failed} calls failed`);
                // The first round warms up.
                if (round > 0) samples.set(name + clients, [...(samples.get(name + clients) ?? []), median(latencies)]);
              }
            }
          }
        },
        { upstream: server.url },
      );
    } finally {
      await server.stop();
    }
    return contenders.map(({ name }): Line => {
      const cells: Record<string, string> = {};
      for (const clients of CLIENTS) {
        const own = samples.get(name + clients) ?? [];
        const ratio = medianRatio(own, samples.get(direct.name + clients) ?? []);
        cells[`${clients} at once, ms`] = median(own).toFixed(2);
        cells[`${clients} at once, over direct`] = `${ratio.toFixed(2)} ×`;
      }
      return { subject: name, cells };
    });
  },
};
