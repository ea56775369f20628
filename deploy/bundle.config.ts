import type { RolldownOptions } from 'rolldown';

/**
 * Bundles the program and its packages into a few files, for the image. Finding, reading and linking about four hundred
 * files takes most of the start-up time.
 */
export default {
  input: { main: './src/main.ts', 'draft-worker': './src/capabilities/console/draft-worker.ts' },
  platform: 'node',
  output: {
    dir: 'bundle',
    cleanDir: true,
    // The depth of `src/capabilities/package-root.ts`, so that it finds the same folder from both.
    chunkFileNames: 'parts/[name].js',
    // A process whose program is beside the part that starts it.
    entryFileNames: ({ name }) => (name === 'main' ? '[name].js' : 'parts/[name].js'),
    // Each file costs a start half a millisecond. `serve` loads these three, commands perhaps only the first or two.
    codeSplitting: {
      groups: [
        { name: 'program', test: /src.commands.run-command\.ts$/, priority: 3 },
        { name: 'configuration', test: /src.serve.config.load\.ts$/, priority: 2 },
        { name: 'serving', test: /src.commands.serve\.ts$/, priority: 1 },
      ],
    },
    // With --enable-source-maps, stacks have the lines of the sources.
    sourcemap: true,
    comments: { legal: true },
  },
} satisfies RolldownOptions;
