import { constants } from 'node:crypto';
import type { ServerOptions } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { SecureContextOptions } from 'node:tls';
import type { Certificates } from '../lib/certificate-files.ts';
import type { TlsObserver } from '../model/observer.ts';
import type { OwnCertificate } from './own-certificate.ts';

const HANDSHAKE_TIMEOUT_MS = 10_000;
/** How long a session may be resumed, and with it what was found of a client's certificate at its beginning. */
const SESSION_SECONDS = 300;

/**
 * Creates the server of `https:`, RFC 9110 §4.2.2: HTTP/1.1 over TLS 1.2 or 1.3. A renewed certificate is shown from the
 * next handshake on; open connections live on, and sessions of before are not resumed, as new tickets have new keys.
 *
 * Where client certificates are asked for, a client may have none, and one that does not verify counts as none instead
 * of ending the handshake: who needs a certificate is decided by the token that is bound to it, everybody else is served,
 * and the log can say why.
 */
export function createSecureServer(options: ServerOptions, certificate: OwnCertificate, observer: TlsObserver): Server {
  const { clientCa } = certificate;
  const server = createServer({
    ...options,
    ...contextOf(certificate.current()),
    ALPNProtocols: ['http/1.1'],
    handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
    requestCert: clientCa !== undefined,
    rejectUnauthorized: false,
  });
  certificate.onRenewed((certificates) => server.setSecureContext(contextOf(certificates)));
  // Node's own listener makes a malformed request of each: an answer in plain text to somebody who speaks no TLS.
  server.removeAllListeners('tlsClientError');
  server.on('tlsClientError', (error: NodeJS.ErrnoException, socket) => {
    observer.handshakeFailed(error.code ?? error.message, socket.remoteAddress);
    socket.destroy();
  });
  if (clientCa !== undefined && clientCa !== 'any') {
    server.on('secureConnection', (socket) => {
      if (socket.authorized || socket.getPeerX509Certificate() === undefined) return;
      observer.clientCertificateRefused(String(socket.authorizationError), socket.remoteAddress);
    });
  }
  return server;
}

function contextOf({ cert, key, ca }: Certificates): SecureContextOptions {
  return {
    cert,
    key,
    // An empty list, so that none of the web's authorities stands in.
    ca: ca ?? [],
    minVersion: 'TLSv1.2',
    sessionTimeout: SESSION_SECONDS,
    // A client must not become another one on an open connection.
    secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
  };
}
