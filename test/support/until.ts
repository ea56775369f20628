/** Waits until `condition` holds, checking often; throws after 20 s. */
export async function until(condition: () => boolean | Promise<boolean>, what = 'it to happen'): Promise<true> {
  const end = Date.now() + 20_000;
  while (!(await condition())) {
    if (Date.now() > end) throw new Error(`waited in vain for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  return true;
}
