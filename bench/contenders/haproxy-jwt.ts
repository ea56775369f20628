import { join } from 'node:path';
import type { Contender } from '../contender.ts';
import { freeHost, notOnPath, startServer, written } from '../machine/process.ts';

/** The native alternative. Verifies signature, issuer, audience, expiry, scope and tenant of each token. No bodies. */
export const haproxyJwt: Contender = {
  name: 'haproxy-jwt',
  does: 'verifies each JWT, forwards',
  missing: () => notOnPath('haproxy'),
  async start({ upstream, issuer, publicKey, audience, folder }) {
    const host = await freeHost();
    const file = await written(
      join(folder, 'haproxy.cfg'),
      `global
  nbthread 1
  maxconn 9000
defaults
  mode http
  timeout connect 5s
  timeout client 1h
  timeout server 1h
  option http-keep-alive
  option http-no-delay
  http-reuse always
frontend clients
  bind ${host}
  http-request set-var(txn.token) http_auth_bearer
  http-request set-var(txn.alg) var(txn.token),jwt_header_query('$.alg')
  http-request deny deny_status 401 unless { var(txn.alg) -m str RS256 }
  http-request deny deny_status 401 unless { var(txn.token),jwt_verify(txn.alg,"${publicKey}") -m int 1 }
  http-request deny deny_status 401 unless { var(txn.token),jwt_payload_query('$.iss') -m str ${issuer} }
  http-request deny deny_status 401 unless { var(txn.token),jwt_payload_query('$.aud') -m str ${audience} }
  http-request set-var(txn.now) date()
  http-request deny deny_status 401 if { var(txn.token),jwt_payload_query('$.exp','int'),sub(txn.now) -m int lt 0 }
  http-request deny deny_status 403 unless { var(txn.token),jwt_payload_query('$.scope') -m sub read }
  http-request deny deny_status 403 unless { var(txn.token),jwt_payload_query('$.tenant') -m str acme }
  http-request del-header authorization
  default_backend upstream
backend upstream
  server one ${new URL(upstream).host}
`,
    );
    return startServer(['haproxy', '-db', '-q', '-f', file], 'contender', host);
  },
};
