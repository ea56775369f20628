import type { SettingsOf, UpstreamKeys } from '../../../schema/validators.js';
import { Slot } from '../../core/model/slot.ts';

/** The bounds of one route, in each process. */
export type Concurrency = SettingsOf<UpstreamKeys['concurrency']>;

/** The bounds of a route; undefined: none. */
export const concurrencyOf = new Slot<Concurrency>();
