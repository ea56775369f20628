import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Contender } from '../contender.ts';
import { answering, notOnPath, startProgram } from '../machine/process.ts';
import { freePort } from '../../test/support/ports.ts';

/** The native alternative. Verifies signature, issuer, audience, expiry, scope and tenant of each token. No bodies. */
export const haproxyJwt: Contender = {
  name: 'haproxy-jwt',
  does: 'verifies each JWT, forwards',
  missing: () => notOnPath('haproxy'),
  async start({ upstream, issuer, publicKey, audience, folder }) {
    const port = await freePort();
    const file = join(folder, 'haproxy.cfg');
    await writeFile(
      file,
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
  bind 127.0.0.1:${port}
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
    const program = startProgram(['haproxy', '-db', '-q', '-f', file], 'contender');
    const url = `http://127.0.0.1:${port}`;
    await answering(url);
    return { url, pids: [program.pid], output: program.output, stop: program.stop };
  },
};
