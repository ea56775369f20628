import type { MetricRows } from '../core/telemetry/metrics.ts';
import { refusals as ofCore } from '../core/model/reasons.ts';
import type { NamedRefusal } from '../core/model/refusal.ts';
import type { Capability } from './capability.ts';
import { decisionPoints } from './decision-points/manifest.ts';
import { exchange } from './exchange/manifest.ts';
import { history } from './history/manifest.ts';
import { lock } from './lock/manifest.ts';
import { possession } from './possession/manifest.ts';
import { signedIdentities } from './signed-identity/manifest.ts';

/** Every capability, in the order in which their gates judge a call. */
export const capabilities: readonly Capability[] = [lock, history, decisionPoints, exchange, signedIdentities, possession];

/** The metrics of all capabilities. */
export const metricRows: MetricRows = Object.assign({}, ...capabilities.map(({ metrics }) => metrics));

/** What the names of files of capabilities beside policies end with. */
export const besidePolicies: readonly string[] = capabilities.flatMap(({ policyFiles }) => policyFiles?.suffix ?? []);

/** All reasons for a refusal: those of the core, then those of each capability. */
export const refusals: Readonly<Record<string, NamedRefusal>> = Object.assign(
  { ...ofCore },
  ...capabilities.map(({ reasons }) => reasons),
);
