import type { OnRoute } from '../../core/model/on-route.ts';
import type { InProcess, ProcessParts } from '../capability.ts';
import { createCredentialSources } from './credential-source.ts';
import { upstreamToken } from './slot.ts';

/** Tokens for upstreams in one process. Their cache outlives a configuration. */
export function openExchange({ events, clock, answers }: ProcessParts): InProcess {
  const sources = createCredentialSources(events.tokenLookup, clock, answers);
  return {
    open: ({ clients }) => ({
      of(route, { revalidate }): OnRoute {
        const wanted = upstreamToken.of(route);
        if (wanted === undefined) return {};
        const source = sources(wanted, { clients, revalidate });
        return {
          credential: {
            ...(wanted.kind !== 'phantom' && { span: 'exchange' }),
            obtain: (...about) => source.obtain(...about),
            onUnauthorized: (grant) => source.onUnauthorized?.(grant),
          },
        };
      },
    }),
    drop: (isMeant) => sources.drop(isMeant),
  };
}
