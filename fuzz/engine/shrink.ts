/** A smaller case that still `holds`. Removes smaller and smaller pieces, in at most `maxAttempts` attempts. */
export async function shrunk(
  input: Buffer,
  maxAttempts: number,
  holds: (candidate: Buffer) => Promise<boolean>,
): Promise<Buffer> {
  let smallest = input;
  let attempts = 0;
  for (let size = Math.max(1, input.length >> 1); size >= 1; size = size === 1 ? 0 : size >> 1) {
    for (let at = 0; at < smallest.length;) {
      if (attempts++ >= maxAttempts) return smallest;
      const candidate = Buffer.concat([smallest.subarray(0, at), smallest.subarray(at + size)]);
      if (await holds(candidate)) smallest = candidate;
      else at += size;
    }
  }
  return smallest;
}
