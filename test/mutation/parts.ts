/** A part of `src/` whose mutants are made. */
export interface Part {
  readonly mutate: readonly string[];
  /** The tests that its mutants have to survive: those that mirror it, and do not wait for anything. */
  readonly tests: readonly string[];
  /** The least score, in percent, that `npm run mutation` takes for good. It only rises. */
  readonly floor: number;
}

/** In the order of their size. */
export const parts: Readonly<Record<string, Part>> = {
  route: { mutate: ['src/route/*.ts'], tests: ['test/route/*.test.ts'], floor: 100 },
  authorize: { mutate: ['src/authorize/*.ts'], tests: ['test/authorize/*.test.ts'], floor: 100 },
  respond: {
    // answer.ts is about sockets that are still being written to: its tests wait for them.
    mutate: ['src/respond/!(answer).ts'],
    tests: ['test/respond/!(answer).test.ts', 'test/pins/challenges.test.ts'],
    floor: 100,
  },
  pipeline: { mutate: ['src/pipeline.ts'], tests: ['test/pipeline-order.test.ts'], floor: 100 },
  mcp: { mutate: ['src/mcp/*.ts'], tests: ['test/mcp/*.test.ts'], floor: 97 },
  policy: { mutate: ['src/policy/*.ts'], tests: ['test/policy/*.test.ts'], floor: 0 },
  authenticate: {
    // What asks authorization servers is left out: its tests wait for sockets and clocks.
    mutate: [
      'src/authenticate/{client-authentication,confirmation,credentials,dpop-proof,introspection-answer,jwt}.ts',
      'src/authenticate/{nonces,other-kinds,possession,principal,proof-check,proof-key,proof-target}.ts',
      'src/authenticate/{signed-answer,token-key}.ts',
    ],
    tests: [
      'test/authenticate/{client-authentication,confirmation,credentials,introspection,jwt}.test.ts',
      'test/authenticate/{nonces,other-kinds,possession,proof-key,proof-target,signed-answer}.test.ts',
    ],
    floor: 0,
  },
};
