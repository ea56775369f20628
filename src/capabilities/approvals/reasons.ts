import { reasonsOf, unavailable } from '../../core/model/refusal.ts';

/** What the gate refuses. The policy language has the reasons of its rules. */
export const reasons = reasonsOf({
  'approval.full': unavailable,
  'approval.body': { status: 415, message: 'Unsupported media type' },
  'approval.size': { status: 413, message: 'Too large to be approved', isFinal: true },
});
