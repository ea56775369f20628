import type { RolldownOptions } from 'rolldown';
import bundle from './bundle.config.ts';

/**
 * Bundles our modules into a few files, for the npm package. Its dependencies stay packages, so that an operator can
 * replace one that has a vulnerability.
 */
export default {
  ...bundle,
  external: /^[a-z@]/,
  output: { ...bundle.output, dir: 'dist' },
} satisfies RolldownOptions;
