import type { Capability } from './capability.ts';
import { decisionPoints } from './decision-points/manifest.ts';

/** Every capability, in the order in which their gates judge a call. */
export const capabilities: readonly Capability[] = [decisionPoints];
