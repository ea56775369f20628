import { final, unavailable } from '../../model/refusal.ts';

export const decisionPointReasons = {
  'decision_point.denied': final,
  'decision_point.unavailable': unavailable,
} as const;
