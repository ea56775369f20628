import { globSync, readFileSync } from 'node:fs';

/** A part of `src/` that is mutated. All members but the floor are patterns of paths. */
export interface Part {
  readonly mutate: readonly string[];
  /** Where its tests are; {@link testsOf} chooses among them. */
  readonly tests: readonly string[];
  /** The lowest score, in percent, with which `npm run mutation` succeeds. It only rises. */
  readonly floor: number;
}

/** In the order of their size. */
export const parts: Readonly<Record<string, Part>> = {
  route: {
    mutate: ['src/pipeline/route/*.ts', 'src/lib/http/path-flaw.ts'],
    tests: ['test/pipeline/route/*.test.ts', 'test/lib/http/path-flaw.test.ts'],
    floor: 100,
  },
  authorize: { mutate: ['src/pipeline/authorize/*.ts'], tests: ['test/pipeline/authorize/*.test.ts'], floor: 100 },
  respond: {
    // answer.ts writes to sockets, so that its tests start servers.
    mutate: ['src/pipeline/respond/!(answer).ts'],
    tests: ['test/pipeline/respond/*.test.ts', 'test/pins/challenges.test.ts'],
    floor: 100,
  },
  pipeline: { mutate: ['src/pipeline/pipeline.ts'], tests: ['test/pipeline/pipeline-order.test.ts'], floor: 100 },
  json: {
    // Property tests check the files that read byte by byte.
    mutate: ['src/lib/json/{describe-value,lossless,own-member,pointer,splice-strings}.ts'],
    tests: ['test/lib/json/*.test.ts', 'test/policy/*.test.ts'],
    floor: 100,
  },
  mcp: { mutate: ['src/mcp/*.ts'], tests: ['test/mcp/*.test.ts'], floor: 100 },
  lock: { mutate: ['src/mcp/lock/*.ts'], tests: ['test/mcp/lock/*.test.ts'], floor: 100 },
  policy: {
    mutate: ['src/policy/*.ts', 'src/policy/conditions/*.ts'],
    // Steps and conditions also say when they refuse; only proofs read that.
    tests: ['test/policy/*.test.ts', 'test/policy/prove/{decisions,over-time}.test.ts'],
    floor: 100,
  },
  history: {
    mutate: ['src/pipeline/history/*.ts', 'src/store/{memory-ledger,track}.ts'],
    tests: ['test/pipeline/history/*.test.ts', 'test/store/{memory-ledger,track}.test.ts'],
    floor: 100,
  },
  authenticate: {
    // The tests of the other files of authorization-server/ start servers.
    mutate: ['src/pipeline/authenticate/*.ts', 'src/authorization-server/client-authentication.ts'],
    tests: ['test/pipeline/authenticate/*.test.ts', 'test/authorization-server/client-authentication.test.ts'],
    floor: 100,
  },
  prove: {
    // Not yet the files that keep results between mutants (numbers, texts of patterns), nor names and automata.
    mutate: ['src/policy/prove/{decisions,formula}.ts'],
    tests: ['test/policy/prove/!(brute-force).test.ts', 'test/policy/{approval,authentication}.test.ts'],
    floor: 100,
  },
};

/** The test files of a part, without those that start a server. Such a test waits, and would run for each mutant. */
export function testsOf({ tests }: Part): readonly string[] {
  return globSync([...tests]).filter((path) => !/\bstart[A-Z]\w*\(/.test(readFileSync(path, 'utf8')));
}
