import type { TlsObserver } from '../model/observer.ts';
import type { Log } from './log.ts';
import type { Metrics } from './metrics.ts';

/**
 * Creates what tells of TLS. What strangers cause is told at `debug` only: everybody can make a handshake fail.
 */
export function createTlsObserver(log: Log, metrics: Metrics): TlsObserver {
  return {
    certificateInForce(expiresAt) {
      metrics.certificateExpires(expiresAt);
      log.event('info', 'tls certificate in force', { expires: expiresAt.toISOString() });
    },
    certificateRefused: createRefusedRenewal(log),
    handshakeFailed: (detail, peer) => log.event('debug', 'tls handshake failed', { detail, peer }),
    clientCertificateRefused: (detail, peer) =>
      log.event('debug', 'client certificate does not count', { detail, peer }),
  };
}

/** Tells of a renewed certificate that cannot be used; the one in force goes on. */
export function createRefusedRenewal(log: Log): TlsObserver['certificateRefused'] {
  return (detail) => log.event('error', 'tls certificate not renewed', { detail });
}
