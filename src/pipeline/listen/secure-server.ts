import { constants } from 'node:crypto';
import type { ServerOptions } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { SecureContextOptions } from 'node:tls';
import type { Certificates } from '../../lib/certificate-files.ts';
import type { TlsObserver } from '../../model/events.ts';
import type { OwnCertificate } from './own-certificate.ts';

const HANDSHAKE_TIMEOUT_MS = 10_000;
/** How long a client may resume a session, which keeps the result of verifying the client's certificate. */
const SESSION_SECONDS = 300;

/**
 * Creates the server for `https:`, RFC 9110 §4.2.2: HTTP/1.1 over TLS 1.2 or 1.3. A renewed certificate is used from
 * the next handshake on. Open connections stay. Earlier sessions are not resumed, because new tickets have new keys.
 *
 * If the gateway asks for client certificates, a client may still have none. A certificate that fails verification does
 * not end the handshake. The gateway logs the failure and treats the request as if no certificate was sent: only a
 * token that is bound to a certificate needs one.
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
  // Node's own listener answers in plain text, as if the handshake were a malformed request.
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
    // An empty list: without one, Node would trust its default authorities.
    ca: ca ?? [],
    minVersion: 'TLSv1.2',
    sessionTimeout: SESSION_SECONDS,
    // A client must not change its certificate on an open connection.
    secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
  };
}
