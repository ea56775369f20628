import { final, reasonsOf, unavailable } from '../../core/model/refusal.ts';

export const reasons = reasonsOf({
  'tool.changed': final,
  'prompt.changed': final,
  'lock.unverified': unavailable,
  'arguments.invalid': { status: 400, code: -32602, message: 'Invalid arguments', isFinal: true },
});
