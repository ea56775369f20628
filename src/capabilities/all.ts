import type { MetricRows } from '../core/telemetry/metrics.ts';
import { refusals as ofCore } from '../core/model/reasons.ts';
import type { NamedRefusal } from '../core/model/refusal.ts';
import type { OpenStore } from '../ports/store.ts';
import type { Capability, OwnListener } from './capability.ts';
import { leadOwnRequests } from '../ports/own-requests.ts';
import type { Config } from '../ports/config.ts';
import { approvals } from './approvals/manifest.ts';
import { auditChain } from './audit-chain/manifest.ts';
import { operatorConsole } from './console/manifest.ts';
import { concurrency } from './concurrency/manifest.ts';
import { decisionPoints } from './decision-points/manifest.ts';
import { egress } from './egress/manifest.ts';
import { exchange } from './exchange/manifest.ts';
import { revocation } from './revocation/manifest.ts';
import { history } from './history/manifest.ts';
import { sharedStore } from './shared-store/manifest.ts';
import { proxiesThatAsk } from './forward-auth/manifest.ts';
import { lock } from './lock/manifest.ts';
import { possession } from './possession/manifest.ts';
import { signedIdentities } from './signed-identity/manifest.ts';
import { ownHeaders } from './upstream-headers/manifest.ts';
import { traces } from './traces/manifest.ts';
import { webSocketUpgrades } from './websockets/manifest.ts';

/** Every capability, in the order in which their gates judge a call. */
export const capabilities: readonly Capability[] = [
  sharedStore,
  ownHeaders,
  lock,
  approvals,
  history,
  decisionPoints,
  concurrency,
  exchange,
  signedIdentities,
  possession,
  revocation,
  auditChain,
  proxiesThatAsk,
  traces,
  operatorConsole,
  egress,
  webSocketUpgrades,
];

/** What the first capability opens that opens anything; undefined: none does. */
async function firstOpened<Opened>(
  open: (capability: Capability) => Promise<Opened | undefined> | undefined,
): Promise<Opened | undefined> {
  for (const capability of capabilities) {
    const opened = await open(capability);
    if (opened !== undefined) return opened;
  }
  return undefined;
}

/** Opens what a capability does with the lines of the log; undefined: nothing. @throws {ConfigError} */
export const openLines: NonNullable<Capability['openLines']> = async (...about) =>
  firstOpened(({ openLines: opens }) => opens?.(...about));

/** The listeners of capabilities, besides the one of clients. */
export async function openListeners(config: Config): Promise<readonly OwnListener[]> {
  const opened = await Promise.all(capabilities.flatMap(({ openListener }) => openListener?.(config) ?? []));
  return opened.filter((listener) => listener !== undefined);
}

/** Opens what leads requests of this process; undefined: they go directly. */
export const openEgress: NonNullable<Capability['openEgress']> = async (...about) =>
  firstOpened(({ openEgress: opens }) => opens?.(...about));

/** Leads all later requests of this process as a configuration says, or without one as the environment does. */
export async function leadRequests(config: Parameters<typeof openEgress>[0]): Promise<void> {
  leadOwnRequests(await openEgress(config, process.env));
}

/** Opens traces; undefined: none are configured. */
export const openTracing: NonNullable<Capability['openTracing']> = async (...about) =>
  firstOpened(({ openTracing: opens }) => opens?.(...about));

/** Checks the lines of a log; undefined: no capability links them. */
export const verifyLog = capabilities.find((each) => each.verifyLog !== undefined)?.verifyLog;

/** The metrics of all capabilities. */
export const metricRows: MetricRows = Object.assign({}, ...capabilities.map(({ metrics }) => metrics));

/** What the names of files of capabilities beside policies end with. */
export const besidePolicies: readonly string[] = capabilities.flatMap(({ policyFiles }) => policyFiles?.suffix ?? []);

/** All reasons for a refusal: those of the core, then those of each capability. */
export const refusals: Readonly<Record<string, NamedRefusal>> = Object.assign(
  { ...ofCore },
  ...capabilities.map(({ reasons }) => reasons),
);

const [store] = capabilities.flatMap(({ store: provided }) => provided ?? []);

/** Reads the settings of the store that processes and replicas share. */
export const readStore: NonNullable<Capability['store']>['read'] = async (root) => store?.read(root);

/** Opens it. @throws {TypeError} if no capability provides one. */
export const openStore: OpenStore = async (...about) => {
  if (store === undefined) throw new TypeError('no capability provides a store');
  return store.open(...about);
};

/** What ends rights before tokens expire; undefined: nothing does. */
export const [revocations] = capabilities.flatMap(({ revocation: provided }) => provided ?? []);
