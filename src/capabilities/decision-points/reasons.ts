import { final, reasonsOf, unavailable } from '../../core/model/refusal.ts';

export const reasons = reasonsOf({
  'decision_point.denied': final,
  'decision_point.unavailable': unavailable,
});
