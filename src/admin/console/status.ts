import type { Config } from '../../model/config.ts';
import type { RevocationState } from '../../model/revocation.ts';
import type { RouteView, Status } from './messages.ts';
import type { ProcessState } from './process-source.ts';

/** The configuration in force. */
export interface InForce {
  config: Config;
  /** Since when, in milliseconds since the epoch. */
  since: number;
  /** Why the newest files are not in force; empty if they are. */
  problems: readonly string[];
}

/** The configuration in force, and the state of what it depends on. */
export function statusOf(
  { config, since, problems }: InForce,
  state: ProcessState,
  workers: number,
  revocation?: RevocationState,
): Status {
  return {
    config: config.hash,
    since,
    problems,
    routes: routesOf(config),
    workers,
    ...state,
    revocation,
    hasApprovals: config.approvals !== undefined,
    grafana: config.console.grafana,
  };
}

/** The routes of a configuration; nothing of them is secret. */
function routesOf({ routes, publicUrl }: Config): readonly RouteView[] {
  return routes.map(({ name, path, protocol, policy, upstream, public: isPublic }) => ({
    name,
    path,
    url: publicUrl + path,
    protocol,
    policy: policy?.name,
    isPublic,
    upstream: upstream.origin + upstream.path,
  }));
}
