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
  route: { mutate: ['src/route/*.ts'], tests: ['test/route/*.test.ts'], floor: 100 },
  authorize: { mutate: ['src/authorize/*.ts'], tests: ['test/authorize/*.test.ts'], floor: 100 },
  respond: {
    // answer.ts writes to sockets, so that its tests start servers.
    mutate: ['src/respond/!(answer).ts'],
    tests: ['test/respond/*.test.ts', 'test/pins/challenges.test.ts'],
    floor: 100,
  },
  pipeline: { mutate: ['src/pipeline/pipeline.ts'], tests: ['test/pipeline/pipeline-order.test.ts'], floor: 100 },
  json: {
    // Property tests check the files that read byte by byte.
    mutate: ['src/json/{lossless,own-member,pointer,splice-strings}.ts'],
    tests: ['test/json/*.test.ts', 'test/policy/*.test.ts'],
    floor: 100,
  },
  mcp: { mutate: ['src/mcp/*.ts'], tests: ['test/mcp/*.test.ts'], floor: 100 },
  lock: { mutate: ['src/lock/*.ts'], tests: ['test/lock/*.test.ts'], floor: 100 },
  policy: { mutate: ['src/policy/*.ts'], tests: ['test/policy/*.test.ts'], floor: 100 },
  history: { mutate: ['src/history/*.ts'], tests: ['test/history/*.test.ts'], floor: 100 },
  authenticate: {
    // The tests of the other files of authorization-server/ start servers.
    mutate: ['src/authenticate/*.ts', 'src/authorization-server/client-authentication.ts'],
    tests: ['test/authenticate/*.test.ts', 'test/authorization-server/client-authentication.test.ts'],
    floor: 100,
  },
  prove: {
    // Not yet the files that keep results between mutants (numbers, texts of patterns), nor names and automata.
    mutate: ['src/prove/{decisions,formula,lifetimes,needed-scopes,refusals,search,verdicts}.ts'],
    tests: ['test/prove/!(brute-force|texts).test.ts'],
    floor: 100,
  },
};

/** The test files of a part, without those that start a server. Such a test waits, and would run for each mutant. */
export function testsOf({ tests }: Part): readonly string[] {
  return globSync([...tests]).filter((path) => !/\bstart[A-Z]\w*\(/.test(readFileSync(path, 'utf8')));
}
