/**
 * A proxy for requests of the gateway's own, `docs/tls-and-proxies.md#a-proxy-for-the-gateways-own-requests`.
 *
 * @module
 */

import type { Violation } from '../../core/config/schema.ts';
import type { Config } from '../../ports/config.ts';
import type { Capability } from '../capability.ts';
import { egressSettings } from './slot.ts';

/** Whether the environment names a proxy for targets of a scheme, as other programs read it. */
function isNamedIn(env: NodeJS.ProcessEnv, scheme: 'http' | 'https'): boolean {
  return [`${scheme}_proxy`, `${scheme.toUpperCase()}_PROXY`].some((name) => (env[name] ?? '') !== '');
}

export const egress: Capability = {
  name: 'egress',
  readFiles: async (root, ...about) =>
    root.get('egress').present
      ? (await import('./settings.ts')).readEgress(root, ...about)
      : { entry: undefined, files: [] },
  async openEgress(config, env) {
    const settings = config && egressSettings.of(config);
    if (settings === undefined && !isNamedIn(env, 'http') && !isNamedIn(env, 'https')) return undefined;
    const { createEgress, proxiesIn } = await import('./proxies.ts');
    // The gateway reaches the front door where it listens, past every proxy.
    const direct = config?.frontDoor === undefined ? [] : [new URL(config.frontDoor.server.backchannel).origin];
    return createEgress(settings === undefined ? proxiesIn(env) : { http: settings, https: settings }, direct);
  },
  warningsOf: unjudgedDocuments,
  examine: async ({ authorizationServers }) => (await import('./doctor.ts')).examineEgress(authorizationServers),
};

/** A proxy looks up the names of metadata documents, which any client chooses. */
function unjudgedDocuments(config: Pick<Config, 'slots' | 'frontDoor'>): readonly Violation[] {
  const { metadataDocuments = [], documentAddresses = [] } = config.frontDoor?.clients ?? {};
  const isLed = egressSettings.of(config) !== undefined || isNamedIn(process.env, 'https');
  if (!isLed || metadataDocuments.length === 0 || documentAddresses.length > 0) return [];
  const message =
    'the documents come through the proxy, which looks up their names: let it refuse the addresses of your own ' +
    'networks, and set document_addresses to say that it does';
  return [{ path: ['front_door', 'clients', 'metadata_documents'], part: 'key', message }];
}
