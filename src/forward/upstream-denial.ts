import errors from 'undici/lib/core/errors.js';
import { Denial } from '../model/denial.ts';

/** What undici, or whoever reads what it hands over, says of an upstream that did not answer. */
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

/** What a filter says of an answer that it must read and cannot; undefined for any other error. */
export function unreadableAnswer(error: Error): Denial | undefined {
  if (error instanceof Denial) return error;
  // Its message quotes what the upstream said.
  if (error instanceof SyntaxError) return new Denial('upstream.invalid', 'a list that is not JSON cannot be filtered');
  return error instanceof RangeError ? new Denial('upstream.invalid', error.message) : undefined;
}

/** What http-proxy-3 says of an upstream that did not answer a handshake. */
export function handshakeDenial(error: Error): Denial {
  if (error instanceof Denial) return error;
  if ('code' in error && String(error.code).startsWith('HPE_')) {
    return new Denial('upstream.invalid', error.message, { cause: error });
  }
  // How the library says that nobody took the connection in time.
  const reason = error.message === 'ECONNECT_TIMEOUT' ? 'upstream.timeout' : 'upstream.unreachable';
  return new Denial(reason, error.message, { cause: error });
}
