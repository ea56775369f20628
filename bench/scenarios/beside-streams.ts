import { measureCpu } from '../compare-cpu.ts';
import { createSallyport, type SallyportContender } from '../contenders/sallyport.ts';
import type { Scenario } from '../bench.ts';
import { openStreams } from '../load/streams.ts';
import { startNode } from '../machine/process.ts';
import { median, medianRatio } from '../statistics.ts';
import { atMost, times, type Line } from '../table.ts';
import { requestOf } from './requests.ts';

const COUNTS = [0, 1000, 8000] as const;
const AIM = 1.1;

/** A request beside idle event streams to the same upstream. */
export const besideStreams: Scenario = {
  name: 'beside-streams',
  about:
    'GET of 300 bytes and POST tools/call beside idle event streams to the same upstream, every MCP client holds one',
  async run(bench) {
    const upstream = await startNode('event-upstream.ts', 'other');
    const token = await bench.token();
    const headers = { authorization: `Bearer ${token}`, accept: 'text/event-stream' };
    const stream = { method: 'GET', path: '/mcp', headers } as const;
    const byCount = COUNTS.map((count) => [count, createSallyport({ name: `${count} streams` })] as const);
    const lines: Line[] = [];
    try {
      await bench.with(
        byCount.map(([, contender]) => contender),
        async (running) => {
          const open: Awaited<ReturnType<typeof openStreams>>[] = [];
          for (const [count, { name }] of byCount) {
            open.push(await openStreams(running.get(name)?.url ?? '', stream, count));
          }
          for (const kind of ['get', 'post'] as const) {
            const samples = await measureCpu(bench, running, requestOf(kind, token));
            lines.push(...linesOf(kind, byCount, samples));
          }
          for (const { close } of open) close();
        },
        { upstream: upstream.url },
      );
    } finally {
      await upstream.stop();
    }
    return lines;
  },
};

function linesOf(
  kind: 'get' | 'post',
  byCount: readonly (readonly [number, SallyportContender])[],
  samples: Awaited<ReturnType<typeof measureCpu>>,
): readonly Line[] {
  const alone = samples.get('0 streams') ?? [];
  return byCount.map(([count, { name }]) => {
    const cpu = samples.get(name) ?? [];
    const ratio = medianRatio(cpu, alone);
    return {
      subject: `${kind}, ${name}`,
      cells: { 'CPU µs/request': median(cpu).toFixed(1), 'CPU is': times(ratio) },
      aims: count === 0 ? [] : [atMost(`${kind} beside ${name}, compared with beside none`, AIM, ratio)],
    };
  });
}
