import { defineConfig } from 'rolldown';

/**
 * The program and the packages that it runs, in a few files: to find, read and link some four hundred is most of what a
 * start takes. The image carries it.
 */
export default defineConfig({
  input: 'src/main.ts',
  platform: 'node',
  output: {
    dir: 'bundle',
    cleanDir: true,
    // As deep as what they are made of: `../../templates` is the same folder from both.
    chunkFileNames: 'parts/[name].js',
    // Stacks name the sources' lines where Node is asked for it (--enable-source-maps).
    sourcemap: true,
    comments: { legal: true },
  },
});
