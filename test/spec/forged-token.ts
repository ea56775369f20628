import { createHmac } from 'node:crypto';

/** A JWT of any header and payload, signed by its maker, or unsigned. */
export function forgedToken(header: object, payload: object, sign: (input: string) => string = () => ''): string {
  const input = [header, payload].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.');
  return `${input}.${sign(input)}`;
}

/** HMAC with a secret that is none: the text of a public key, RFC 8725 §2.1. */
export function hmacWith(secret: string | Buffer): (input: string) => string {
  return (input) => createHmac('sha256', secret).update(input).digest('base64url');
}
