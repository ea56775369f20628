import { final, unavailable } from '../../core/model/refusal.ts';

export const decisionPointReasons = {
  'decision_point.denied': final,
  'decision_point.unavailable': unavailable,
} as const;
