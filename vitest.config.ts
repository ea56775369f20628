import { availableParallelism } from 'node:os';
import { configDefaults, defineConfig } from 'vitest/config';
import type { Reporter } from 'vitest/node';

/** Tests that start many processes or browsers, or wait for real time: more than half of the time of all tests. */
const thorough = [
  'attacks',
  'capabilities/console',
  'clients',
  'commands',
  'demo',
  'deploy',
  'faults',
  'forward-auth',
  'fuzz',
  'limits',
  'serve/workers',
];

/** Plain lines at the end, for programs that read the output: colours and columns vary between terminals. */
const plainTotal: Reporter = {
  onTestRunEnd(modules) {
    const states = modules.flatMap((module) => [...module.children.allTests()].map((test) => test.result().state));
    const count = (state: string): number => states.filter((each) => each === state).length;
    process.stdout.write(`\n${count('passed')} passed, ${count('failed')} failed, ${count('skipped')} skipped\n`);
    if (process.argv.includes('--project=quick')) {
      process.stdout.write(`not run, because they take longer: test/{${thorough.join(',')}}; npm run test:all\n`);
    }
  },
};

/** Half a minute of a core each and up to two minutes in all, as connections must end by themselves: `npm run test:load`. */
const loadTests = ['test/faults/wires.test.ts'];

const thoroughFiles = thorough.map((folder) => `test/${folder}/**/*.test.ts`);
const exclude = [...configDefaults.exclude, ...(process.env['LOAD_TESTS'] === undefined ? loadTests : [])];

export default defineConfig({
  test: {
    projects: [
      {
        extends: true,
        test: { name: 'quick', include: ['test/**/*.test.ts'], exclude: [...exclude, ...thoroughFiles] },
      },
      { extends: true, test: { name: 'thorough', include: thoroughFiles, exclude } },
    ],
    // As Node loads it: vitest would take another `default` for what ajv exports.
    server: { deps: { external: [/\/schema\/validators\.js$/] } },
    globalSetup: 'test/support/temporary-files.ts',
    setupFiles: ['test/support/nothing-disclosed.ts'],
    // Each ends what would never end by itself: a busy machine must not reach them.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // A test that leans on the one before it fails. The output begins with the seed: `npm test -- --sequence.seed=1`.
    sequence: { shuffle: { tests: true } },
    // A condition that a test waits for mostly holds within milliseconds: the default interval of 50 ms adds up.
    expect: { poll: { interval: 10, timeout: 60_000 } },
    // Most of the time is waiting: for processes, sockets and clocks. Vitest would cap `'400%'` at one worker a core.
    maxWorkers: 2 * availableParallelism(),
    // Files of one worker share the loaded modules: loading them for each file took half of the processor time.
    isolate: false,
    reporters: ['default', plainTotal],
    coverage: { include: ['src/**'], reporter: ['text-summary', 'json-summary'] },
  },
});
