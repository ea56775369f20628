import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Contender } from '../contender.ts';
import { freeHost, notOnPath, startServer, written } from '../machine/process.ts';

const folders = ['/usr/lib/apache2/modules', '/usr/lib64/httpd/modules', '/usr/libexec/apache2'];
const modules = folders.find((folder) => existsSync(join(folder, 'mod_auth_openidc.so')));
const THREADS = 128;

/**
 * The native alternative that speaks OAuth: Apache with mod_auth_openidc as a resource server (`AuthType oauth20`). It
 * verifies the signature of each token again, because its cache holds introspected tokens alone. Its fastest settings:
 * the key in a file, no access log, no claims in headers.
 */
export const apacheOpenidc: Contender = {
  name: 'apache-openidc',
  does: 'verifies each JWT, forwards',
  missing: () => notOnPath('apache2') ?? (modules === undefined ? 'mod_auth_openidc is not installed' : undefined),
  async start({ upstream, issuer, publicKey, audience, folder }) {
    const host = await freeHost();
    const own = join(folder, 'apache');
    const loaded = ['mpm_event', 'authn_core', 'authz_core', 'authz_user', 'headers', 'proxy', 'proxy_http'];
    const file = await written(
      join(own, 'apache.conf'),
      `ServerRoot ${own}
DefaultRuntimeDir ${own}
PidFile ${own}/apache.pid
ErrorLog ${own}/error.log
LogLevel error
ServerName 127.0.0.1
Listen ${host}
${[...loaded, 'auth_openidc'].map((name) => `LoadModule ${name}_module ${modules}/mod_${name}.so`).join('\n')}
User #65534
Group #65534
ListenBacklog 16384
ServerLimit 1
StartServers 1
ThreadLimit ${THREADS}
ThreadsPerChild ${THREADS}
MaxRequestWorkers ${THREADS}
MinSpareThreads 1
MaxSpareThreads ${THREADS}
KeepAlive On
MaxKeepAliveRequests 0
KeepAliveTimeout 3600
OIDCOAuthVerifyCertFiles k1#${publicKey}
OIDCOAuthRemoteUserClaim sub
OIDCPassClaimsAs none
ProxyPass / ${upstream}/ disablereuse=Off
<Location />
  AuthType oauth20
  <RequireAll>
    Require claim "iss:${issuer}"
    Require claim "aud:${audience}"
    Require claim "scope~(^| )read( |$)"
    Require claim "tenant:acme"
  </RequireAll>
  RequestHeader unset Authorization
</Location>
`,
    );
    return startServer(['apache2', '-f', file, '-DFOREGROUND'], 'contender', host);
  },
};
