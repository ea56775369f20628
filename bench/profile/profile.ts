import type { Completed } from '../load/wrk.ts';
import { cpuMicroseconds, kernelTicks } from '../machine/cpu.ts';
import { openProfiler, type CallFrame } from '../machine/profiler.ts';

/** The CPU time of a process under load, by function, over several rounds. */
export interface Profile {
  /** Profiles one more round. */
  add(use: () => Promise<Completed>): Promise<void>;
  readonly requests: number;
  /** The CPU time of a request. */
  readonly microseconds: number;
  /** The CPU time of a request by the owner of the functions. */
  byOwner(ownerOf: (frame: CallFrame) => string): ReadonlyMap<string, number>;
  /** The CPU time of a request in the process's own code and in the kernel. */
  byMode(): ReadonlyMap<string, number>;
  close(): void;
}

/** Opens the profile of a process with `--inspect=127.0.0.1:port`. */
export async function openProfile(pids: readonly number[], port: number): Promise<Profile> {
  const profiler = await openProfiler(port);
  const busy: { readonly frame: CallFrame; readonly samples: number }[] = [];
  const sum = { requests: 0, cpu: 0, user: 0, kernel: 0, samples: 0 };
  const each = (): number => sum.cpu / sum.requests;

  return {
    async add(use) {
      const { nodes, samples } = await profiler.profiled(async () => {
        const cpu = cpuMicroseconds(pids);
        const { user, kernel } = kernelTicks(pids);
        sum.requests += (await use()).requests;
        const after = kernelTicks(pids);
        sum.cpu += cpuMicroseconds(pids) - cpu;
        sum.user += after.user - user;
        sum.kernel += after.kernel - kernel;
      });
      // The number of samples, not the time between them: the host or another process may have had that time.
      const counts = Map.groupBy(samples, (id) => id);
      for (const { id, callFrame } of nodes) {
        const count = counts.get(id)?.length ?? 0;
        if (count === 0 || callFrame.functionName === '(idle)') continue;
        busy.push({ frame: callFrame, samples: count });
        sum.samples += count;
      }
    },
    get requests() {
      return sum.requests;
    },
    get microseconds() {
      return each();
    },
    byOwner(ownerOf) {
      const times = new Map<string, number>();
      for (const { frame, samples } of busy) {
        const owner = ownerOf(frame);
        times.set(owner, (times.get(owner) ?? 0) + (samples / sum.samples) * each());
      }
      return times;
    },
    byMode() {
      const ticks = sum.user + sum.kernel;
      return new Map([
        ['of that in user mode', (sum.user / ticks) * each()],
        ['of that in the kernel', (sum.kernel / ticks) * each()],
      ]);
    },
    close: () => profiler.close(),
  };
}
