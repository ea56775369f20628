/** A socket address to listen on. Port 0 lets the system choose. */
export interface Address {
  readonly host: string;
  readonly port: number;
}

/** The files of the gateway's own certificate, as absolute paths. */
export interface Tls {
  /** A PEM file: the certificate, then its chain. */
  readonly cert: string;
  /** A PEM file. */
  readonly key: string;
  /**
   * A PEM file with the issuers of client certificates. `any` accepts every issuer, for tokens bound to self-signed
   * certificates. Undefined: the gateway does not request client certificates.
   */
  readonly clientCa: string | undefined;
}
