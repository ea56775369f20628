import type { DecisionPointKeys, SettingsOf } from '../../../schema/validators.js';
import { Slot } from '../../core/model/slot.ts';

/** An external decision point, AuthZEN Authorization API 1.0, as `decision_points` describes it. */
export type DecisionPointSettings = SettingsOf<DecisionPointKeys> & { readonly name: string };

/** The decision point of a route: it must allow too what the policy allows. */
export const decisionPoint = new Slot<DecisionPointSettings>();
