import { isLed } from '../../ports/own-requests.ts';
import { ownFetch } from '../../tokens/servers/own-fetch.ts';
import { reasonOf } from '../../core/lib/wording.ts';
import type { Config } from '../../ports/config.ts';
import { type Finding, findingsOn, remedyForReason } from '../finding.ts';
import { ProxyFault } from './proxies.ts';

const TIMEOUT_MS = 10_000;

/** Examines whether the proxy lets requests to each authorization server through. */
export async function examineEgress(servers: Config['authorizationServers']): Promise<readonly Finding[]> {
  const origins = new Set([...servers.values()].map(({ backchannel }) => new URL(backchannel).origin));
  const led = [...origins].filter((origin) => isLed(new URL(origin)));
  return await Promise.all(led.map(examineWay));
}

async function examineWay(origin: string): Promise<Finding> {
  const on = findingsOn('egress');
  const remedy = 'allow requests to it at the proxy, repair egress.proxy, or name it in egress.except';
  try {
    const { status } = await ownFetch(origin, { method: 'HEAD', signal: AbortSignal.timeout(TIMEOUT_MS) });
    // RFC 9110 §15.5.8: to an http target, the answer of the proxy stands in the place of the target's.
    if (status === 407) return on.fail(`the proxy to ${origin} wants other credentials than those in its URL`, remedy);
    return on.ok(`the proxy leads to ${origin}`);
  } catch (error) {
    const cause: unknown = error instanceof Error ? error.cause : undefined;
    if (cause instanceof ProxyFault) return on.fail(cause.message, remedyForReason(cause.message, remedy));
    // The examination of the server itself says what is wrong behind the proxy.
    return on.ok(`the proxy leads towards ${origin} (${reasonOf(error)})`);
  }
}
