import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import { listen } from '../../demo/listen.ts';
import { readTraces, type CollectedSpan } from './otlp.ts';

/** A real OpenTelemetry collector, as far as traces go. */
export interface Collector {
  readonly url: string;
  readonly server: Server;
  /** What came, in the order of their end. */
  readonly spans: CollectedSpan[];
  /** The header sections of the requests that they came with. */
  readonly requests: { readonly url: string; readonly headers: IncomingHttpHeaders }[];
  /** What it answers with; 200 at first. */
  status: number;
  /** Waits for as many spans as make `enough` true. */
  until(enough: (spans: readonly CollectedSpan[]) => boolean): Promise<readonly CollectedSpan[]>;
  /** The span of this name, once it is there. */
  span(name: string): Promise<CollectedSpan>;
  close(): Promise<void>;
}

/** Starts a collector on loopback. */
export async function startCollector(port = 0): Promise<Collector> {
  const waiting = new Set<() => void>();
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { url = '', headers } = request;
      collector.requests.push({ url, headers });
      if (collector.status === 200) collector.spans.push(...readTraces(Buffer.concat(chunks)));
      response.writeHead(collector.status, { 'content-type': 'application/x-protobuf' }).end();
      for (const look of waiting) look();
    });
  });
  const collector: Collector = {
    ...(await listen(server, port)),
    server,
    spans: [],
    requests: [],
    status: 200,
    async until(enough) {
      await new Promise<void>((resolve) => {
        const look = (): void => {
          if (!enough(collector.spans)) return;
          waiting.delete(look);
          resolve();
        };
        waiting.add(look);
        look();
      });
      return collector.spans;
    },
    async span(name) {
      const spans = await collector.until((all) => all.some((span) => span.name === name));
      return spans.find((span) => span.name === name) as CollectedSpan;
    },
  };
  return collector;
}
