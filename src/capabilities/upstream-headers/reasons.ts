import { final, reasonsOf } from '../../core/model/refusal.ts';

export const reasons = reasonsOf({ 'credential.missing': final });
