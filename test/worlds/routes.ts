import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { startIssuer, type Issuer } from '../support/issuer.ts';
import type { WrittenLog } from '../support/written-log.ts';

const audience = 'https://api.example';

/** A gateway before upstreams that a test brings, and the issuer that it trusts. */
export interface RoutesWorld extends WrittenLog, Pick<TestGateway, 'url' | 'metrics'> {
  readonly issuer: Issuer;
  readonly gateway: TestGateway;
  token(claims?: Record<string, unknown>): Promise<string>;
  close(): Promise<void>;
}

/**
 * Starts one with `routes` in YAML, each a line: `name: x, path: /x, …`. They share an audience unless they are public.
 *
 * @param limits Lines more at the top level; with `tls` among them it is served by https.
 */
export async function startRoutesWorld(routes: readonly string[], limits = ''): Promise<RoutesWorld> {
  const issuer = await startIssuer();
  const lines = routes.map(
    (route) => `  - { ${route}${route.includes('public:') ? '' : `, audience: ${audience}`} }\n`,
  );
  const gateway = await startTestGateway({
    ...(/^tls:/m.test(limits) && { publicUrl: 'https://gateway.test' }),
    yaml: `${limits}
authorization_servers:
  main: { issuer: ${issuer.url}, clock_tolerance: 0s, jwt: { algorithms: [RS256] } }
routes:
${lines.join('')}`,
  });
  return {
    ...gateway,
    issuer,
    gateway,
    token: (claims = {}) => issuer.sign({ aud: audience, ...claims }),
    async close() {
      await gateway.close();
      await issuer.close();
    },
  };
}
