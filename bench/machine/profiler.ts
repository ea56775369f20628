import { once } from 'node:events';

/** The parts of V8's profile that this code reads. */
interface CpuProfile {
  readonly nodes: readonly { readonly id: number; readonly callFrame: CallFrame }[];
  /** The node id of each sample. */
  readonly samples: readonly number[];
}

/** A function and its place in the source. */
export interface CallFrame {
  readonly functionName: string;
  readonly url: string;
  readonly lineNumber: number;
}

/** V8's profiler in another process. */
export interface Profiler {
  /** The profile of the process while `use` runs. */
  profiled(use: () => Promise<void>): Promise<CpuProfile>;
  /** The heap in use after a garbage collection. */
  heapBytes(): Promise<number>;
  close(): void;
}

const SAMPLE_MICROSECONDS = 200;

/** Connects to the profiler of a process with `--inspect=127.0.0.1:port`. */
export async function openProfiler(port: number): Promise<Profiler> {
  const socket = await opened(port);
  let sent = 0;
  async function call(method: string, params: object = {}): Promise<unknown> {
    const id = (sent += 1);
    const answer = Promise.withResolvers<unknown>();
    const listen = ({ data }: MessageEvent): void => {
      const message = JSON.parse(String(data)) as { id?: number; result?: unknown };
      if (message.id === id) answer.resolve(message.result);
    };
    socket.addEventListener('message', listen);
    socket.send(JSON.stringify({ id, method, params }));
    const result = await answer.promise;
    socket.removeEventListener('message', listen);
    return result;
  }
  await call('Profiler.enable');
  await call('Profiler.setSamplingInterval', { interval: SAMPLE_MICROSECONDS });
  return {
    async profiled(use) {
      await call('Profiler.start');
      await use();
      const { profile } = (await call('Profiler.stop')) as { profile: CpuProfile };
      return profile;
    },
    async heapBytes() {
      await call('HeapProfiler.collectGarbage');
      return ((await call('Runtime.getHeapUsage')) as { usedSize: number }).usedSize;
    },
    close: () => socket.close(),
  };
}

async function opened(port: number): Promise<WebSocket> {
  const targets = (await (await fetch(`http://127.0.0.1:${port}/json/list`)).json()) as {
    webSocketDebuggerUrl: string;
  }[];
  const socket = new WebSocket(targets[0]?.webSocketDebuggerUrl ?? '');
  if (socket.readyState === WebSocket.CONNECTING) await once(socket, 'open');
  return socket;
}
