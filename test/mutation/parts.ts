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
  json: {
    // What reads bytes one by one is held by its properties, not by mutants.
    mutate: ['src/json/{lossless,pointer}.ts'],
    tests: ['test/json/*.test.ts', 'test/policy/*.test.ts'],
    floor: 100,
  },
  mcp: { mutate: ['src/mcp/*.ts'], tests: ['test/mcp/*.test.ts'], floor: 100 },
  policy: { mutate: ['src/policy/*.ts'], tests: ['test/policy/*.test.ts'], floor: 100 },
  authenticate: {
    // Of authorization-server/ only this: the other tests wait for sockets and clocks.
    mutate: ['src/authenticate/*.ts', 'src/authorization-server/client-authentication.ts'],
    tests: [
      'test/authenticate/{accept,cached-verifier,confirmation,credentials}.test.ts',
      'test/authorization-server/client-authentication.test.ts',
      'test/authenticate/{dpop-proof,introspect-each,introspection-answer,introspection-request}.test.ts',
      'test/authenticate/{jwt-form,key-ages,key-set,nonces,token-kind,possession,principal,proof-check}.test.ts',
      'test/authenticate/{proof-key,proof-target,shared-introspection,signed-answer-reader,trust}.test.ts',
    ],
    floor: 100,
  },
};
