import errors from 'undici/lib/core/errors.js';
import { Denial } from '../../model/denial.ts';

/** The denial for an error of undici, or of a filter, in place of the upstream's answer. */
export function upstreamDenial(error: Error): Denial {
  const unreadable = unreadableAnswer(error);
  if (unreadable !== undefined) return unreadable;
  if (error instanceof errors.HeadersTimeoutError || error instanceof errors.ConnectTimeoutError) {
    return new Denial('upstream.timeout', error.message, { cause: error });
  }
  if (error instanceof errors.HTTPParserError || error instanceof errors.HeadersOverflowError) {
    return new Denial('upstream.invalid', error.message, { cause: error });
  }
  const code = 'code' in error && typeof error.code === 'string' ? `${error.code}: ` : '';
  return new Denial('upstream.unreachable', `${code}${error.message}`, { cause: error });
}

/** The denial for an answer that a filter must read and cannot; undefined for any other error. */
export function unreadableAnswer(error: Error): Denial | undefined {
  if (error instanceof Denial) return error;
  // Its message quotes the answer of the upstream.
  if (error instanceof SyntaxError) return new Denial('upstream.invalid', 'a list that is not JSON cannot be filtered');
  return error instanceof RangeError ? new Denial('upstream.invalid', error.message) : undefined;
}

/** The denial for an error of http-proxy-3 in place of the answer to a handshake. */
export function handshakeDenial(error: Error): Denial {
  if (error instanceof Denial) return error;
  if ('code' in error && String(error.code).startsWith('HPE_')) {
    return new Denial('upstream.invalid', error.message, { cause: error });
  }
  // The library's message for a connect timeout.
  const reason = error.message === 'ECONNECT_TIMEOUT' ? 'upstream.timeout' : 'upstream.unreachable';
  return new Denial(reason, error.message, { cause: error });
}
