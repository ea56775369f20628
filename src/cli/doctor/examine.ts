/**
 * Examines a deployment: everything that a request needs, by the code that serves it. It changes nothing, calls no tool
 * and sends credentials only where `serve` would.
 *
 * @module
 */

import { warningsOf } from '../../config/warnings.ts';
import type { Config } from '../../model/config.ts';
import { examineServer } from './authorization-server.ts';
import { examineCertificates } from './certificates.ts';
import { examineKnownClients } from './client.ts';
import { examineClock } from './clock.ts';
import { type Finding, findingsOn } from './finding.ts';
import { isNotStarted, withoutFrontDoor } from './front-door-start.ts';
import { examineLocks } from './locks.ts';
import { examinePublicUrl } from './public-url.ts';
import { examineStore } from './shared-store.ts';
import { examineToken } from './token.ts';
import { examineUpstreams } from './upstreams.ts';

/** A token to examine, and its route. */
export interface PresentedToken {
  readonly value: string;
  /** Undefined: the route whose audience it names. */
  readonly route: string | undefined;
}

/** Makes all findings, group by group in the order of the configuration, each group as soon as it is complete. */
export async function* examine(config: Config, token: PresentedToken | undefined): AsyncGenerator<Finding> {
  const now = Date.now();
  const { frontDoor } = config;
  const isStarted = frontDoor === undefined || !(await isNotStarted(frontDoor));
  const servers = isStarted ? config : withoutFrontDoor(config);
  const groups = [
    Promise.resolve(warningsOf(config).map((text) => findingsOn('gateway.yaml').warn(text, 'see `sallyport check`'))),
    examinePublicUrl(config),
    examineCertificates(config, now),
    ...[...servers.authorizationServers.values()].map((server) => examineServer(server, config)),
    // Loaded only here: openid-client is of no use without a front door.
    ...(frontDoor === undefined
      ? []
      : [import('./front-door.ts').then(({ examineFrontDoor }) => examineFrontDoor(config, isStarted))]),
    examineKnownClients(servers),
    examineClock(config),
    examineStore(config),
    examineUpstreams(servers),
    examineLocks(servers),
    ...(token === undefined ? [] : [examineToken(token.value, token.route, config, now)]),
  ];
  // A later group may fail while an earlier one is awaited.
  for (const group of groups) group.catch(() => {});
  for (const group of groups) yield* await group;
}
