import type { Scenario } from '../bench.ts';
import type { Surroundings } from '../contender.ts';
import { createSallyport, defaultRoutes, policies, type SallyportContender } from '../contenders/sallyport.ts';
import { toolCall } from '../answers.ts';
import { measureCpu } from '../compare-cpu.ts';
import { bytesOf } from '../load/connection.ts';
import { steady } from '../load/steady.ts';
import { inRounds, median, medianRatio } from '../statistics.ts';
import { atMost, times } from '../table.ts';
import { requestOf } from './requests.ts';

const AIM = 1.1;
const PER_SECOND = 300;

/** A large configuration compared with a small one. */
export const size: Scenario = {
  name: 'size',
  about: 'POST tools/call with 1,000 routes of 100 tools and with 1 route of 10; `decision` is a metric, at a low rate',
  async run(bench) {
    const small = configured('1 route × 10 tools', 1, 10);
    const large = configured('1,000 routes × 100 tools', 1000, 100);
    const request = { ...requestOf('post', await bench.token()), path: '/mcp0', body: toolCall };
    const { cpu, decisions } = await bench.with([small, large], async (running) => {
      const samples = await measureCpu(bench, running, request);
      const means = await inRounds(bench.rounds, running, async (one) => {
        const { adminUrl } = one as Awaited<ReturnType<SallyportContender['start']>>;
        const before = await decisionSum(adminUrl);
        await steady(one.url, bytesOf(one.url, request), PER_SECOND, bench.seconds, 8);
        const after = await decisionSum(adminUrl);
        return (1e6 * (after.seconds - before.seconds)) / (after.count - before.count);
      });
      return { cpu: samples, decisions: means };
    });
    return [small, large].map(({ name }) => {
      const ratioOf = (samples: typeof cpu): number =>
        medianRatio(samples.get(name) ?? [], samples.get(small.name) ?? []);
      const ratio = ratioOf(decisions);
      return {
        subject: name,
        cells: {
          'CPU µs/request': median(cpu.get(name) ?? []).toFixed(1),
          'decision µs': median(decisions.get(name) ?? []).toFixed(1),
          'CPU is': times(ratioOf(cpu)),
          'decision is': times(ratio),
        },
        aims: name === large.name ? [atMost('time of a decision, large compared with small', AIM, ratio)] : [],
      };
    });
  },
};

/** The load uses route 0. Its policy lists further tools and the called one. */
function configured(name: string, routes: number, tools: number): SallyportContender {
  const listed = Object.fromEntries(Array.from({ length: tools - 1 }, (_, at) => [`tool_${at}`, { scope: 'read' }]));
  return createSallyport({
    name,
    policies: { ...policies, tools: { ...policies.tools, tools: { ...listed, 'get_*': {} } } },
    routes(surroundings: Surroundings) {
      const [, mcp] = defaultRoutes(surroundings);
      return Array.from({ length: routes }, (_, at) => ({ ...mcp, name: `mcp${at}`, path: `/mcp${at}` }));
    },
  });
}

async function decisionSum(adminUrl: string): Promise<{ seconds: number; count: number }> {
  const text = await (await fetch(`${adminUrl}/metrics`)).text();
  const value = (suffix: string): number =>
    Number(new RegExp(`^sallyport_decision_duration_seconds_${suffix}\\{route="mcp0"\\} (.*)$`, 'm').exec(text)?.[1]);
  return { seconds: value('sum'), count: value('count') };
}
