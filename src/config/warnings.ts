import type { Config } from '../model/config.ts';
import { stepUpScopes } from './step-up.ts';

/** Shorter tokens can be guessed in spite of the rate limit of the admin listener. */
const ADMIN_TOKEN_CHARACTERS = 16;

/** Probable mistakes in a valid configuration, a sentence each. `check` prints them, and the log repeats them. */
export function warningsOf(config: Config): readonly string[] {
  const warnings: string[] = [];
  const { publicUrl, tls, trustedProxies } = config;
  if (publicUrl.startsWith('https:') && tls === undefined && trustedProxies.length === 0) {
    const remedy =
      'add the proxy that terminates TLS to trusted_proxies; without it, all its callers share one address in limits';
    warnings.push(`public_url is https and there is no tls: ${remedy}`);
  }
  if (includesEveryAddress(config.trustedProxies)) {
    warnings.push('trusted_proxies trusts every address: each client can choose its own address');
  }
  if (includesEveryAddress(config.certificateProxies)) {
    warnings.push('certificate_proxies trusts every address: each client can claim any certificate');
  }
  if ((config.admin?.token?.length ?? ADMIN_TOKEN_CHARACTERS) < ADMIN_TOKEN_CHARACTERS) {
    warnings.push(`admin.token is short: use at least ${ADMIN_TOKEN_CHARACTERS} random characters`);
  }
  for (const route of config.routes) {
    const { name, firstChallenge } = route;
    const missing = stepUpScopes(route).join(' ');
    if (missing === '' || firstChallenge !== 'supported') continue;
    const remedy = 'add them, or some clients can never get them';
    warnings.push(
      `first_challenge: supported of route ${name} names scopes_supported, which lacks ${missing}: ${remedy}`,
    );
  }
  return warnings;
}

/** Whether one of the networks is the whole of IPv4 or IPv6. */
function includesEveryAddress(networks: readonly string[]): boolean {
  return networks.some((network) => network.endsWith('/0'));
}
