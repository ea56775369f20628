import type { Config } from '../model/config.ts';

/** What is fixed once a process listens, as the file calls it. */
export const needsRestart: Readonly<Record<string, (config: Config) => unknown>> = {
  listen: ({ listen }) => listen,
  'admin.listen': ({ admin }) => admin?.listen,
  'forward_auth.listen': ({ forwardAuth }) => forwardAuth?.listen,
  tls: ({ tls }) => tls,
  telemetry: ({ telemetry }) => telemetry,
  'limits.request_headers': ({ limits }) => limits.requestHeadersBytes,
};

/** What of a configuration holds what is fixed, as JSON can carry it. */
export type Fixed = ReturnType<typeof fixedIn>;

/** {@link Fixed} of a configuration. */
export function fixedIn({ listen, forwardAuth, tls, telemetry, limits }: Config) {
  return { listen, forwardAuth, tls, telemetry, limits };
}

/** `config`, but what needs a restart is as it was at the start. */
export function asAtStart(config: Config, { listen, forwardAuth, tls, telemetry, limits }: Fixed): Config {
  return {
    ...config,
    listen,
    forwardAuth: forwardAuth && { trusted: [], ...config.forwardAuth, listen: forwardAuth.listen },
    tls,
    telemetry,
    limits: { ...config.limits, requestHeadersBytes: limits.requestHeadersBytes },
  };
}
