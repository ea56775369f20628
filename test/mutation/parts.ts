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
    mutate: ['src/core/gateway/route/*.ts', 'src/core/lib/http/path-flaw.ts'],
    tests: ['test/core/gateway/route/*.test.ts', 'test/core/lib/http/path-flaw.test.ts'],
    floor: 100,
  },
  authorize: {
    mutate: ['src/core/gateway/authorize/*.ts'],
    tests: ['test/core/gateway/authorize/*.test.ts'],
    floor: 100,
  },
  respond: {
    // answer.ts writes to sockets, so that its tests start servers.
    mutate: ['src/core/gateway/respond/!(answer).ts', 'src/serve/gateway/server-answers.ts'],
    tests: [
      'test/core/gateway/respond/*.test.ts',
      'test/pins/challenges.test.ts',
      'test/serve/gateway/server-answers.test.ts',
    ],
    floor: 100,
  },
  pipeline: {
    mutate: ['src/core/gateway/pipeline.ts'],
    tests: ['test/core/gateway/pipeline-order.test.ts'],
    floor: 100,
  },
  explain: {
    mutate: ['src/analysis/review/explanation.ts'],
    tests: ['test/analysis/review/explanation.test.ts'],
    floor: 100,
  },
  json: {
    // Property tests check the files that read byte by byte.
    mutate: ['src/core/lib/json/{describe-value,lossless,own-member,pointer,splice-strings}.ts'],
    tests: ['test/core/lib/json/*.test.ts', 'test/core/policy/*.test.ts'],
    floor: 100,
  },
  mcp: { mutate: ['src/mcp/*.ts'], tests: ['test/mcp/*.test.ts'], floor: 100 },
  lock: {
    mutate: ['src/capabilities/lock/{comparison,locked-routes,watch}.ts'],
    tests: ['test/capabilities/lock/*.test.ts'],
    floor: 100,
  },
  policy: {
    mutate: [
      'src/core/policy/*.ts',
      'src/core/policy/conditions/*.ts',
      'src/policy-files/{placed-conditions,property,served-requests}.ts',
      'src/policy-parts/{approvals/approval,approvals/part,history/counting,history/part,history/rules,placed-conditions}.ts',
    ],
    // Steps and conditions also say when they refuse; only proofs read that.
    tests: [
      'test/core/policy/{.,conditions}/*.test.ts',
      'test/policy-parts/inner/inner-calls.test.ts',
      'test/policy-parts/{approvals/approval,history/counting,history/over-time,history/rules}.test.ts',
      'test/policy-files/{placed-conditions,property,served-requests}.test.ts',
      'test/analysis/prove/{decisions,over-time}.test.ts',
    ],
    floor: 100,
  },
  history: {
    mutate: ['src/capabilities/history/count.ts', 'src/policy-parts/history/{memory-ledger,track}.ts'],
    tests: ['test/capabilities/history/*.test.ts', 'test/policy-parts/history/{memory-ledger,track}.test.ts'],
    floor: 100,
  },
  authenticate: {
    // The tests of the other files of tokens/servers/ start servers.
    mutate: [
      'src/tokens/*.ts',
      'src/capabilities/possession/{dpop-proof,nonces,opened,proof-check}.ts',
      'src/tokens/servers/client-authentication.ts',
    ],
    tests: [
      'test/tokens/*.test.ts',
      'test/capabilities/possession/*.test.ts',
      'test/tokens/servers/client-authentication.test.ts',
    ],
    floor: 100,
  },
  prove: {
    // Not yet the files that keep results between mutants (numbers, texts of patterns), nor names and automata.
    mutate: ['src/analysis/prove/{decisions,formula}.ts'],
    tests: [
      'test/analysis/prove/!(brute-force).test.ts',
      'test/core/policy/authentication.test.ts',
      'test/policy-parts/approvals/approval.test.ts',
    ],
    floor: 100,
  },
};

/** The test files of a part, without those that start a server. Such a test waits, and would run for each mutant. */
export function testsOf({ tests }: Part): readonly string[] {
  return globSync([...tests]).filter((path) => !/\bstart[A-Z]\w*\(/.test(readFileSync(path, 'utf8')));
}
