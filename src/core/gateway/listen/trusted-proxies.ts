import { X509Certificate } from 'node:crypto';
import { hopsBefore } from '../../lib/http/header-fields.ts';
import { createIsWithin } from '../../lib/ip-address.ts';
import type { Call } from '../../model/call.ts';
import { Denial } from '../../model/denial.ts';
import { type Fields, fieldValues } from '../../model/fields.ts';
import { memoized } from '../../lib/remembered.ts';
import { certificateThumbprint } from '../../lib/digest.ts';

type Client = Pick<Call, 'client' | 'forwardedFor' | 'certificateThumbprint'> & Partial<Pick<Call, 'id'>>;

/**
 * Reads the client that a peer reports; undefined if the peer is not a trusted proxy.
 *
 * @throws {Denial} `request.duplicate_header` for a second `Client-Cert`, `request.certificate` for a malformed one.
 */
export type ClientBehind = (peer: string, fields: Fields) => Client | undefined;

/**
 * Creates the reader of what proxies report about their clients; undefined if no proxy is trusted.
 *
 * Trust in the addresses of a proxy is no trust in its certificates: many proxies forward the `Client-Cert` that the
 * client itself wrote. A certificate is public, so that a stolen token that is bound to it would pass. The two kinds of
 * trust are separate lists. The certificate of the connection from either kind of proxy is the proxy's own
 * and never the client's. `Forwarded` (RFC 7239) and `Client-Cert-Chain` are not read.
 *
 * @param trustedProxies Addresses and networks, `10.0.0.0/8`, whose `X-Forwarded-For` counts.
 * @param certificateProxies Addresses and networks whose `Client-Cert` (RFC 9440) counts.
 */
export function createClientBehind(
  trustedProxies: readonly string[],
  certificateProxies: readonly string[],
): ClientBehind | undefined {
  if (trustedProxies.length + certificateProxies.length === 0) return undefined;
  const isTrusted = createIsWithin(trustedProxies);
  const verifiesCertificates = createIsWithin(certificateProxies);
  return (peer, fields) => {
    const verified = verifiesCertificates(peer);
    const trusted = isTrusted(peer);
    if (!verified && !trusted) return undefined;
    // A proxy that only verifies certificates is itself the client.
    const hops = trusted ? hopsBefore(peer, fieldValues(fields, 'x-forwarded-for').join(','), isTrusted) : [peer];
    return {
      client: hops[0] as string,
      forwardedFor: hops.join(', '),
      certificateThumbprint: verified ? certificateReported(fields) : undefined,
      ...(trusted && requestId(fields)),
    };
  };
}

/** The one `X-Request-Id` of a proxy; of two, and of a value that is none, the gateway takes neither. */
function requestId(fields: Fields): Partial<Pick<Call, 'id'>> {
  const [id, ...others] = fieldValues(fields, 'x-request-id');
  return id !== undefined && others.length === 0 && /^[!-~]{1,128}$/.test(id) ? { id } : {};
}

function certificateReported(fields: Fields): string | undefined {
  const [certificate, second] = fieldValues(fields, 'client-cert');
  if (second !== undefined) throw new Denial('request.duplicate_header', 'two client-cert headers');
  return certificate === undefined ? undefined : thumbprintOfHeader(certificate);
}

/** The most certificates that are remembered. A proxy sends the same one with each request of a client. */
const MAX_KNOWN = 256;
const knownThumbprint = memoized(readThumbprint, (value) => value, MAX_KNOWN);

/**
 * The thumbprint of the certificate in a `Client-Cert` field, RFC 9440 §2.2: one Byte Sequence (RFC 8941 §3.3.5) with
 * its DER, without parameters. Undefined for an empty value, which some proxies send if the client had no certificate.
 *
 * @throws {Denial} `request.certificate` for any other value: the gateway trusts the proxy and cannot read what it
 *   sends.
 */
export function thumbprintOfHeader(value: string): string | undefined {
  if (value === '' || value === '::') return undefined;
  return knownThumbprint(value);
}

function readThumbprint(value: string): string {
  const [, base64] = /^:([A-Za-z0-9+/]+={0,2}):$/.exec(value) ?? [];
  if (base64 === undefined) throw malformed('is not one Byte Sequence');
  const der = Buffer.from(base64, 'base64');
  // The parser accepts PEM too, and ignores bytes after a certificate.
  if (!certificateIn(der)?.raw.equals(der)) throw malformed('is not a certificate in DER');
  return certificateThumbprint(der);
}

function certificateIn(der: Buffer): X509Certificate | undefined {
  try {
    return new X509Certificate(der);
  } catch {
    return undefined;
  }
}

function malformed(what: string): Denial {
  return new Denial('request.certificate', `Client-Cert of a peer in certificate_proxies ${what}`);
}
