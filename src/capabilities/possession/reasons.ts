import { reasonsOf } from '../../core/model/refusal.ts';

const proof = {
  status: 401,
  error: 'invalid_dpop_proof',
  message: 'A valid proof of possession is required',
} as const;

export const reasons = reasonsOf({
  'proof.missing': proof,
  'proof.invalid': proof,
  'proof.nonce': { ...proof, error: 'use_dpop_nonce', isAsking: true },
  'proof.replayed': proof,
});
