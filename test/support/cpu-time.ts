/**
 * The milliseconds of processor time that `work` takes in this thread. Other processes of a busy machine do not add to it,
 * as they do to what a clock shows.
 */
export function cpuTime(work: () => void): number {
  const before = process.threadCpuUsage();
  work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1000;
}
