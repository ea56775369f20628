import { afterAll, afterEach, beforeAll, beforeEach, onTestFinished, type TestContext } from 'vitest';

/** A server, a world, a browser: what a test starts and closes. */
interface Running {
  close(): unknown;
}

/**
 * Starts a part before the tests of a file or suite and closes it after them. Parts start in the order of the calls,
 * and close in the opposite order.
 */
export function startBeforeAll<Part extends Running>(start: () => Part | Promise<Part>): Part {
  let part: Part | undefined;
  beforeAll(async () => void (part = await start()));
  afterAll(() => part?.close());
  return standIn(() => part);
}

/** Starts a part anew before each test of a file or suite, as {@link startBeforeAll} does for all. */
export function startBeforeEach<Part extends Running>(start: () => Part | Promise<Part>): Part {
  let part: Part | undefined;
  beforeEach(async () => void (part = await start()));
  afterEach(() => part?.close());
  return standIn(() => part);
}

/** A part that this test starts; the end of the test closes it. A concurrent test passes its context. */
export async function forThisTest<Part extends Running>(
  starting: Part | Promise<Part>,
  context: Pick<TestContext, 'onTestFinished'> = { onTestFinished },
): Promise<Part> {
  const part = await starting;
  context.onTestFinished(async () => void (await part.close()));
  return part;
}

/** Passes all that is asked of it on to the part that runs now. */
function standIn<Part extends Running>(running: () => Part | undefined): Part {
  const current = (): Part => {
    const part = running();
    if (part === undefined) throw new Error('the part has not started yet: hooks start it before the tests');
    return part;
  };
  return new Proxy({} as Part, {
    get(_none, name) {
      const part = current();
      const member: unknown = Reflect.get(part, name);
      return typeof member === 'function' ? (member.bind(part) as unknown) : member;
    },
    set: (_none, name, value) => Reflect.set(current(), name, value),
    has: (_none, name) => Reflect.has(current(), name),
  });
}
