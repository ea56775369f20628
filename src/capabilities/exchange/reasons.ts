import { moreScope, reasonsOf } from '../../core/model/refusal.ts';

const badGateway = { status: 502, message: 'Bad gateway' } as const;

export const reasons = reasonsOf({
  'exchange.refused': badGateway,
  'exchange.invalid': badGateway,
  'exchange.scope': badGateway,
  'exchange.insufficient_scope': moreScope,
});
