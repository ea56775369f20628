import { reasonsOf, unavailable } from '../../core/model/refusal.ts';

export const reasons = reasonsOf({ 'upstream.busy': unavailable });
