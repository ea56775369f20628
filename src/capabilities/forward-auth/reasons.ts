import { badRequest, forbidden, reasonsOf } from '../../core/model/refusal.ts';

export const reasons = reasonsOf({
  'forward_auth.peer': forbidden,
  'forward_auth.request': badRequest,
  'forward_auth.body': forbidden,
});
