import type { AskedCall } from '../../../src/capabilities/approvals/book.ts';

// Of one length: a store orders ids of the same millisecond as texts.
let made = 1_000;

/** A call that asks for an approval, with an id of its own. */
export function asked(digest: string, more: Partial<AskedCall> & { validMs?: number; route?: string } = {}): AskedCall {
  const { validMs = 60_000, route = 'tools', ...rest } = more;
  made += 1;
  return {
    request: {
      id: `id-${made}`,
      call: { route, method: 'tools/call', name: 'pay', arguments: '{"n":1}', hidden: 0 },
      caller: { issuer: 'https://as.example', subject: 'alice', client: 'agent' },
      because: undefined,
      digest,
      rules: ['tools.pay.approval'],
      identity: 'i',
      createdAt: 1,
      validMs,
    },
    owner: 'alice',
    waitMs: 60_000,
    continues: undefined,
    ...rest,
  };
}
