import { loadOnce } from '../../core/lib/single-flight.ts';
import type { CredentialSource } from '../../core/model/gate.ts';
import type { OnRoute } from '../../core/model/on-route.ts';
import type { InProcess, ProcessParts } from '../capability.ts';
import type { CredentialSources } from './credential-source.ts';
import { upstreamToken } from './settings.ts';

/** Tokens for upstreams in one process. Their cache outlives a configuration. Its code is loaded at the first use. */
export function openExchange({ events, clock, answers }: ProcessParts): InProcess {
  let sources: CredentialSources | undefined;
  const loaded = loadOnce(async () => {
    const { createCredentialSources } = await import('./credential-source.ts');
    return (sources = createCredentialSources(events.tokenLookup, clock, answers));
  });

  return {
    open: ({ clients }) => ({
      of(route, { revalidate }): OnRoute {
        const wanted = upstreamToken.of(route);
        if (wanted === undefined) return {};
        let source: CredentialSource | undefined;
        return {
          credential: {
            ...(wanted.kind !== 'phantom' && { span: 'exchange' }),
            obtain(grant, token) {
              if (source !== undefined) return source.obtain(grant, token);
              return loaded().then((create) => {
                source ??= create(wanted, { clients, revalidate });
                return source.obtain(grant, token);
              });
            },
            onUnauthorized: (grant) => source?.onUnauthorized?.(grant),
          },
        };
      },
      // So that the first call need not wait. If it fails, the call tries again.
      start(routes) {
        if (routes.some((route) => upstreamToken.of(route) !== undefined)) loaded().catch(() => {});
      },
    }),
    drop: (isMeant) => sources?.drop(isMeant),
  };
}
