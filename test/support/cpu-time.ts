/**
 * The milliseconds of processor time that `work` takes in this thread. Unlike elapsed time, it does
 * not grow with the load of other processes.
 */
export function cpuTime(work: () => void): number {
  const before = process.threadCpuUsage();
  work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1000;
}
