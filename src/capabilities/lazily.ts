import type { GatewayKeys, UpstreamKeys } from '../../schema/validators.js';
import type { Field } from '../core/config/field.ts';
import { loadOnce } from '../core/lib/single-flight.ts';
import type { Route } from '../core/model/route.ts';
import type { ConfigParts, InProcess, Opened, ProcessParts } from './capability.ts';

const unused: Opened = { of: () => ({}) };

/**
 * A capability whose code is loaded for the first configuration that uses it, before that is in force, and then stays.
 * A configuration whose code cannot be loaded cannot be used.
 *
 * @param isUsed Whether a configuration uses it. Must be true where it has anything for a route.
 */
export function lazily(
  isUsed: (config: ConfigParts['config']) => boolean,
  load: () => Promise<(parts: ProcessParts) => InProcess>,
): (parts: ProcessParts) => InProcess {
  return (parts) => {
    let opened: InProcess | undefined;
    const loaded = loadOnce(async () => (await load())(parts));
    return {
      async prepare(config) {
        if (isUsed(config)) opened = await loaded();
      },
      open(about) {
        // Without its gates, a route would be open.
        if (opened === undefined && isUsed(about.config)) throw new TypeError('a configuration is prepared first');
        return opened?.open(about) ?? unused;
      },
      drop: (isMeant) => opened?.drop?.(isMeant),
      adopt: (news) => opened?.adopt?.(news),
      news: () => opened?.news?.() ?? [],
      state: () => opened?.state?.() ?? {},
      close: () => opened?.close?.(),
    };
  };
}

/** Whether the upstream of a route has one of these keys. */
export function hasUpstreamKey(root: Field<GatewayKeys>, ...keys: readonly (keyof UpstreamKeys & string)[]): boolean {
  const upstreams = root
    .get('routes')
    .items()
    .map((route) => route.get('upstream'));
  return upstreams.some((upstream) => keys.some((key) => upstream.get(key).present));
}

/** {@link lazily}, by the routes that use it. */
export function lazilyOn(
  isUsed: (route: Route) => boolean,
  load: () => Promise<(parts: ProcessParts) => InProcess>,
): (parts: ProcessParts) => InProcess {
  return lazily(({ routes }) => routes.some(isUsed), load);
}
