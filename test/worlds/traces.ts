import { startCollector, type Collector } from '../support/collector.ts';
import type { CollectedSpan } from '../support/otlp.ts';
import type { Line } from '../support/written-log.ts';
import { request, startMcpWorld, type McpWorld } from './mcp.ts';

/** The span id that the clients of these tests send. */
export const clientSpan = '00f067aa0ba902b7';

/** The MCP world, and a collector of its spans. */
export interface TracedWorld extends McpWorld {
  readonly collector: Collector;
  /** The spans of one trace by their names, once the server span and all parents have arrived. */
  trace(id: unknown): Promise<Readonly<Record<string, CollectedSpan>>>;
  /** The log line of the newest decision. */
  decided(): Promise<Line>;
}

/** Starts it. `telemetry`: more members of that key; `top`: more YAML at the top level. */
export async function startTracedWorld(telemetry = '', top = ''): Promise<TracedWorld> {
  const collector = await startCollector();
  const world = await startMcpWorld({
    policy: 'tools: { "get_*": {}, pay: { scope: payments } }',
    top: `telemetry: { otlp: "${collector.url}" ${telemetry} }\n${top}`,
  });
  const close = world.close.bind(world);
  return Object.assign(world, {
    collector,
    async trace(id: unknown) {
      const ofTrace = (all: readonly CollectedSpan[]) => all.filter((span) => span.traceId === id);
      await collector.until((all) => {
        const spans = ofTrace(all);
        return spans.some(({ kind }) => kind === 'server') && spans.every(({ parentId }) => isThere(parentId, spans));
      });
      return Object.fromEntries(ofTrace(collector.spans).map((span) => [span.name, span]));
    },
    decided: () => world.gateway.decision(),
    async close() {
      await close();
      await collector.close();
    },
  });
}

function isThere(parentId: string, spans: readonly CollectedSpan[]): boolean {
  return parentId === '' || parentId === clientSpan || spans.some(({ spanId }) => spanId === parentId);
}

/** A tool call with a secret argument. */
export function toolCall(name: string): object {
  return request('tools/call', { name, arguments: { secret: 'hunter2' } });
}
