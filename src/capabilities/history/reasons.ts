import { reasonsOf, unavailable } from '../../core/model/refusal.ts';

/** What the ledger refuses. The policy language has the reasons of its rules. */
export const reasons = reasonsOf({ 'history.full': unavailable });
