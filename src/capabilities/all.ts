import type { MetricRows } from '../core/telemetry/metrics.ts';
import type { Capability } from './capability.ts';
import { decisionPoints } from './decision-points/manifest.ts';
import { lock } from './lock/manifest.ts';

/** Every capability, in the order in which their gates judge a call. */
export const capabilities: readonly Capability[] = [lock, decisionPoints];

/** The metrics of all capabilities. */
export const metricRows: MetricRows = Object.assign({}, ...capabilities.map(({ metrics }) => metrics));
